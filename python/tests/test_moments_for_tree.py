"""Moments that were collected for a tree give its tables, too."""

import numpy as np
import pytest

from latentree import LatentTree, Moments

RNG = np.random.default_rng(0)
HIDDEN = RNG.integers(2, size=2000)
ROWS = np.where(RNG.random((2000, 5)) < np.where(HIDDEN, 0.85, 0.2)[:, None], "yes", "no")
TREE = "(x1,x2,x3,x4,x5)h1;"


def tables(model):
    return [p for name in ["x2", "x5", "h1"] for p in model.query(given={"x1": "yes"}, of=name)[name].values()]


def test_they_give_the_model_that_rows_give():
    by_rows = LatentTree(tree=TREE, parameters="moments", n_states=2).fit(ROWS)
    moments = Moments(tree=TREE, n_states=2).update(ROWS)
    by_moments = LatentTree().fit(Moments.from_bytes(moments.to_bytes()))
    np.testing.assert_allclose(tables(by_moments), tables(by_rows), rtol=1e-9)


def test_parts_merge_by_one_plan():
    first = Moments(tree=TREE).update(ROWS[:1000])
    second = first.empty().update(ROWS[1000:])
    assert second.n_rows == 1000
    assert LatentTree().fit(first + second).report_["rows"] == 2000
    with pytest.raises(ValueError, match="plan"):
        Moments(tree=TREE).update(ROWS[:1000]).merge(Moments(tree=TREE).update(ROWS[1000:]))
