"""Missing cells by their most probable value, their mean, or a draw."""

import numpy as np
import pandas as pd
import pytest

from conftest import draw
from latentree import LatentTree

ROWS = draw(n_rows=2000, n_groups=1)[0] + 1
NAMES = list("abcd")


def holes(dtype=float):
    table = pd.DataFrame(ROWS.astype(float), columns=NAMES)
    return table.mask(np.random.default_rng(2).random(table.shape) < 0.3).astype(dtype)


TREE = LatentTree().fit(holes())


def test_means_of_numbers_are_those_of_their_posterior():
    table = holes()[:50]
    full = TREE.impute(table, method="mean")
    for row in np.flatnonzero(table["a"].isna()):
        answer = TREE.query(given=table.iloc[row], of="a")["a"]
        assert full["a"].iloc[row] == pytest.approx(sum(float(label) * chance for label, chance in answer.items()))
    pd.testing.assert_frame_equal(full.where(table.notna()), table)
    mode = TREE.impute(table)
    pd.testing.assert_frame_equal(mode, TREE.impute(table, method="mode"))
    assert set(np.unique(mode)) == {1.0, 2.0}
    np.testing.assert_array_equal(full.round(), mode)


def test_means_are_values_that_the_column_can_hold():
    table = holes("Int64")
    whole = LatentTree().fit(table).impute(table, method="mean")
    assert (whole.dtypes == table.dtypes).all() and set(np.unique(whole.to_numpy(dtype=int))) == {1, 2}
    levels = table.astype("category")
    full = LatentTree().fit(levels).impute(levels, method="mean")
    assert (full.dtypes == levels.dtypes).all() and not full.isna().any().any()
    for dtype in ("string", object):
        texts = table.astype("string").astype(dtype).where(table.notna(), None)
        for method in ("mode", "mean", "draw"):
            full = LatentTree().fit(texts).impute(texts, method=method)
            assert set(full.to_numpy().ravel()) == {"1", "2"}, (dtype, method)
    words = table.astype(object).map(lambda it: {1: "no", 2: "yes"}.get(it))
    tree = LatentTree().fit(words)
    pd.testing.assert_frame_equal(tree.impute(words, method="mean"), tree.impute(words))


def test_draws_vary_as_the_data_do():
    table = holes()
    full = TREE.impute(table, method="draw", random_state=1)
    pd.testing.assert_frame_equal(full, TREE.impute(table, method="draw", random_state=1))
    assert not full.equals(TREE.impute(table, method="draw", random_state=2))
    assert not TREE.impute(table, method="draw").equals(TREE.impute(table, method="draw"))
    seeded = LatentTree(random_state=3).fit(table)
    pd.testing.assert_frame_equal(seeded.impute(table, method="draw"), seeded.impute(table, method="draw"))
    truth = np.corrcoef(ROWS[:, 0], ROWS[:, 1])[0, 1]
    drawn, filled = full.corr().loc["a", "b"], TREE.impute(table).corr().loc["a", "b"]
    # Modes repeat what the model expects and make columns look more alike than they are.
    assert abs(drawn - truth) < 0.06 < filled - truth


def test_numbers_and_counts_are_drawn_and_averaged():
    rng = np.random.default_rng(0)
    cause = rng.integers(2, size=3000)
    table = pd.DataFrame(
        {
            "yes": np.where(rng.random(3000) < 0.9, cause, 1 - cause).astype(float),
            "also": np.where(rng.random(3000) < 0.9, cause, 1 - cause).astype(float),
            "size": cause * 2 + rng.normal(size=3000),
            "visits": rng.poisson(3 + 20 * cause).astype(float),
        }
    )
    missing = table.copy()
    missing.loc[:999, "size"] = np.nan
    missing.loc[1000:1999, "visits"] = np.nan
    tree = LatentTree(n_states=2, kind={"visits": "count"}).fit(missing)
    mode, mean = tree.impute(missing), tree.impute(missing, method="mean")
    draws = tree.impute(missing, method="draw", random_state=0)
    np.testing.assert_array_equal(mode["size"], mean["size"])
    np.testing.assert_array_equal(mode["visits"], mean["visits"].round())
    assert (mean.loc[1000:1999, "visits"] % 1 > 0).any()
    assert (draws["visits"] % 1 == 0).all()
    # A mean varies less than what it is the mean of; a draw does not.
    assert mean.loc[:999, "size"].std() < 0.9 * table.loc[:999, "size"].std()
    assert draws.loc[:999, "size"].std() == pytest.approx(table.loc[:999, "size"].std(), rel=0.06)


def test_a_wrong_method_is_told():
    with pytest.raises(ValueError, match="method: .*not mode, mean or draw"):
        TREE.impute(holes(), method="median")
    with pytest.raises(TypeError, match="method"):
        TREE.impute(holes(), method=1)
