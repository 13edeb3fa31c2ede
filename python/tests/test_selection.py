"""Searches for the number of states, as the command line does them."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import LatentTree


def three_causes(n_rows: int = 1500, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cause = rng.integers(3, size=(n_rows, 1))
    return np.where(rng.random((n_rows, 6)) < 0.85, cause, rng.integers(3, size=(n_rows, 6)))


def states(tree: LatentTree) -> list[int]:
    return [len(labels) for _, observed, _, labels in tree.model_.nodes() if not observed]


def test_bic_finds_the_number_of_states() -> None:
    tree = LatentTree(select="bic").fit(three_causes())
    plain = LatentTree(n_states=2).fit(three_causes())
    assert states(tree) == [3]
    assert tree.bic(three_causes()) < plain.bic(three_causes())


def test_rows_that_are_held_out_find_more_states_than_two_and_fresh_rows_agree() -> None:
    tree = LatentTree(select="validation", validation_fraction=0.2).fit(three_causes())
    assert min(states(tree)) > 2
    fresh = three_causes(seed=4)
    assert tree.score(fresh) > LatentTree(n_states=2).fit(three_causes()).score(fresh)
    assert tree.report_["rows"] + tree.report_["validation_rows"] == 1500


def test_validation_needs_rows_that_are_held_out() -> None:
    with pytest.raises(ValueError, match="validation"):
        LatentTree(select="validation").fit(three_causes())
    with pytest.raises(ValueError, match="bic, validation or none"):
        LatentTree(select="nothing").fit(three_causes())


def test_nodes_of_a_given_tree_have_their_own_numbers_of_states() -> None:
    newick = "((x1,x2,x3)h2,x4,x5,x6)h1;"
    assert states(LatentTree(tree=newick).fit(three_causes())) == [2, 2]
    tree = LatentTree(tree=newick, states={"h2": 3}).fit(three_causes())
    assert {name: len(labels) for name, observed, _, labels in tree.model_.nodes() if not observed} == {"h1": 2, "h2": 3}
