"""Columns by their names, whatever these are, and evidence by name."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from conftest import draw
from latentree import LatentTree, LatentTreeWarning

ROWS = draw(n_rows=500)[0]
FRAME = pd.DataFrame(ROWS, columns=[f"item{ix}" for ix in range(8)])
TREE = LatentTree().fit(FRAME)
LABELS = {
    "integers": pd.Index([10, 20, 30, 40, 50, 60, 70, 80], name="question"),
    "tuples": pd.MultiIndex.from_product([["mood", "sleep"], [1, 2, 3, 4]], names=["topic", "number"]),
    "both": pd.Index(["a", 1, "b", 2, ("c", 3), 4.5, None, "d"], dtype=object),
}


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_any_type_are_kept(labels):
    frame = pd.DataFrame(ROWS, columns=LABELS[labels])
    tree = LatentTree().fit(frame)
    names = [str(label) for label in frame.columns.tolist()]
    assert tree.feature_names_in_.tolist() == names
    assert [name for name, _, _ in tree.model_.columns()] == names
    assert tree.sample(3, random_state=0).columns.equals(frame.columns)
    assert tree.sample(3, random_state=0).columns.names == frame.columns.names
    holes = frame.astype(float)
    holes.iloc[0, 2] = np.nan
    full = tree.impute(holes)
    assert full.columns.equals(frame.columns) and not full.isna().any().any()
    # Labels themselves may ask.
    label = frame.columns[2]
    if label is not None:
        np.testing.assert_array_equal(tree.predict_proba(holes, of=label), tree.predict_proba(holes, of=names[2]))
        assert tree.query(given={frame.columns[3]: 1}, of=label) == tree.query(given={names[3]: 1}, of=names[2])
        np.testing.assert_array_equal(tree.predict(holes, of=[label]), tree.predict(holes, of=[names[2]]))


def test_labels_that_are_the_same_as_texts_are_refused():
    with pytest.raises(ValueError, match="same name"):
        LatentTree().fit(pd.DataFrame(ROWS[:, :2], columns=[1, "1"]))


def test_columns_are_found_by_name_in_any_order():
    order = FRAME.columns[[3, 0, 7, 1, 2, 6, 5, 4]]
    for turned in (FRAME[order], pl.from_pandas(FRAME[order]), pa.Table.from_pandas(FRAME[order])):
        np.testing.assert_array_equal(TREE.transform(turned), TREE.transform(FRAME))
    holes = FRAME[order].astype(float).mask(np.random.default_rng(0).random(FRAME.shape) < 0.2)
    full = TREE.impute(holes)
    assert full.columns.equals(order)
    pd.testing.assert_frame_equal(full[FRAME.columns], TREE.impute(holes[FRAME.columns]))
    with pytest.raises(ValueError, match="item3"):
        TREE.transform(FRAME.drop(columns="item3"))
    with pytest.raises(ValueError, match="unseen at fit time"):
        TREE.transform(FRAME.assign(more=1))


def test_tables_without_names_are_read_by_position():
    with warnings.catch_warnings():
        warnings.simplefilter("error", LatentTreeWarning)
        np.testing.assert_array_equal(TREE.transform(ROWS), TREE.transform(FRAME))
    with pytest.warns(LatentTreeWarning, match="valid feature names"):
        np.testing.assert_array_equal(TREE.transform(pd.DataFrame(ROWS)), TREE.transform(FRAME))
    unnamed = LatentTree().fit(ROWS)
    with pytest.warns(LatentTreeWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(unnamed.transform(FRAME), unnamed.transform(ROWS))


def test_evidence_may_be_a_row_of_a_table():
    given = {"item1": 1, "item5": 0}
    expected = TREE.query(given=given)
    row = FRAME.astype(float).iloc[0]
    row[:] = np.nan
    row["item1"], row["item5"] = 1, 0
    assert TREE.query(given=row) == expected
    frame = row.to_frame().T
    assert TREE.query(given=frame) == expected
    assert TREE.query(given=pl.from_pandas(frame)) == expected
    assert TREE.query(given=pa.Table.from_pandas(frame, preserve_index=False)) == expected
    assert TREE.query(given=pl.Series([given])) == expected
    assert TREE.query(given={**given, "item2": None, "item3": float("nan")}) == expected
    drawn = TREE.sample(20, given=row, random_state=0)
    assert (drawn["item1"] == 1).all() and (drawn["item5"] == 0).all()
    for wrong, error in ((FRAME[:2], ValueError), (pl.Series([1, 0]), TypeError), ([1, 0], TypeError)):
        with pytest.raises(error, match="given"):
            TREE.query(given=wrong)


def test_a_row_may_hold_columns_that_are_no_variables():
    frame = FRAME.assign(patient=[f"p{ix}" for ix in range(len(FRAME))])
    with pytest.warns(LatentTreeWarning, match="identifier"):
        tree = LatentTree().fit(frame)
    assert tree.query(given=frame.iloc[0]) == tree.query(given=frame.iloc[0].drop("patient"))
    with pytest.raises(ValueError, match="patient"):
        tree.query(given={"patient": "p1"})


def test_truth_values_draw_no_warning():
    truths = FRAME == 1
    for table in (truths, truths.to_numpy(), pl.from_pandas(truths), truths.astype("boolean")):
        with warnings.catch_warnings():
            warnings.simplefilter("error", LatentTreeWarning)
            LatentTree(structure="chow-liu").fit(table)
