"""Labels that the fitted table did not have."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import cross_val_score

from conftest import draw
from latentree import LatentTree, LatentTreeWarning, Moments

WORDS = pd.DataFrame(np.array(["no", "yes"], dtype=object)[draw(n_rows=400, n_groups=1)[0]], columns=list("abcd"))
TREE = LatentTree().fit(WORDS)


def with_new_words():
    table = WORDS[:20].copy()
    table.loc[3, "a"] = "perhaps"
    table.loc[5, "a"] = "Yes"
    table.loc[7, "c"] = "never"
    return table


@pytest.mark.parametrize("container", ["pandas", "category", "polars", "pyarrow", "numpy"])
def test_new_labels_are_missing_cells_with_a_warning(container):
    new = with_new_words()
    known = new.where(new.isin(["no", "yes"]), None)
    X = {
        "pandas": lambda: new,
        "category": lambda: new.astype("category"),
        "polars": lambda: pl.from_pandas(new),
        "pyarrow": lambda: pa.Table.from_pandas(new),
        "numpy": lambda: new.to_numpy(),
    }[container]()
    with pytest.warns(LatentTreeWarning) as caught:
        scores = TREE.score_samples(X)
    texts = sorted(str(warning.message) for warning in caught)
    assert texts == [
        'column "a": 2 labels in 2 cells are unknown to the model and read as missing: "Yes" (the model has "yes"), "perhaps"',
        'column "c": 1 label in 1 cell is unknown to the model and read as missing: "never"',
    ]
    np.testing.assert_array_equal(scores, TREE.score_samples(known))


def test_new_labels_are_an_error_if_they_are_to_be():
    strict = LatentTree(handle_unknown="error").fit(WORDS)
    with pytest.raises(ValueError, match='row 4, column "a": "perhaps" is not a label .*handle_unknown="missing"'):
        strict.transform(with_new_words())
    np.testing.assert_array_equal(strict.transform(WORDS), TREE.transform(WORDS))
    with pytest.raises(ValueError, match="handle_unknown"):
        LatentTree(handle_unknown="ignore").fit(WORDS)
    with pytest.raises(ValueError, match="values"):
        TREE.query(given={"a": "perhaps"})


def test_numbers_that_were_read_as_labels_may_grow():
    counts = pd.DataFrame(np.random.default_rng(0).integers(5, size=(100, 3)), columns=list("abc"))
    tree = LatentTree(kind="categorical").fit(counts)
    more = counts[:4].copy()
    more.loc[2, "b"] = 13
    with pytest.warns(LatentTreeWarning, match='column "b": 1 label in 1 cell is unknown .*"13"'):
        assert np.isfinite(tree.score_samples(more)).all()


def test_a_small_table_with_rare_labels_can_be_cross_validated():
    rare = WORDS[:60].copy()
    rare.loc[[11, 37], "b"] = "once"
    rare.loc[50, "d"] = "never again"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentTreeWarning)
        scores = cross_val_score(LatentTree(), rare, cv=5, error_score="raise")
    assert scores.shape == (5,) and np.isfinite(scores).all()
    with pytest.raises(ValueError, match="is not a label"):
        cross_val_score(LatentTree(handle_unknown="error"), rare, cv=5, error_score="raise")


def test_imputing_leaves_new_labels_as_they_are():
    new = with_new_words()
    new.loc[9, "b"] = None
    full = TREE.impute(new)
    assert full.loc[3, "a"] == "perhaps" and full.loc[9, "b"] in ("no", "yes")


def test_moments_take_new_labels_only_if_they_are_told_to():
    new = with_new_words()
    with pytest.raises(ValueError, match="is not a label"):
        Moments().update(WORDS).update(new)
    with pytest.warns(LatentTreeWarning, match='"never"'):
        told = Moments(handle_unknown="missing").update(WORDS).update(new)
    assert told.to_bytes() == Moments().update(WORDS).update(new.where(new.isin(["no", "yes"]), None)).to_bytes()


def test_rare_labels_are_joined_and_new_ones_join_them():
    rng = np.random.default_rng(0)
    words = np.where(rng.random(400) < 0.5, "often", "also")
    words[:3] = ["rare", "odd", "once"]
    table = pd.DataFrame({"word": words, "copy": words, "bit": rng.integers(2, size=400)})
    tree = LatentTree(min_count=5).fit(table)
    assert set(tree.query(of="word")["word"]) == {"also", "often", "(other)"}
    new = pd.DataFrame({"word": ["never seen"], "copy": ["often"], "bit": [1]})
    rare = pd.DataFrame({"word": ["rare"], "copy": ["often"], "bit": [1]})
    assert tree.score(new) == tree.score(rare)
    for wrong in (0, 1.5, "2"):
        with pytest.raises((TypeError, ValueError), match="min_count"):
            LatentTree(min_count=wrong).fit(table)
