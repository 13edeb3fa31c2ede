"""Searches for the number of states, as the command line does them."""

from __future__ import annotations

import numpy as np
import pytest

from latentree import LatentTree


def three_causes(n_rows: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(3)
    cause = rng.integers(3, size=(n_rows, 1))
    return np.where(rng.random((n_rows, 6)) < 0.85, cause, rng.integers(3, size=(n_rows, 6)))


def test_bic_finds_the_number_of_states() -> None:
    tree = LatentTree(select="bic").fit(three_causes())
    plain = LatentTree(n_states=2).fit(three_causes())
    assert tree.bic(three_causes()) < plain.bic(three_causes())


def test_validation_needs_rows_that_are_held_out() -> None:
    tree = LatentTree(select="validation", validation_fraction=0.2).fit(three_causes())
    assert tree.log_likelihood_ < 0
    with pytest.raises(ValueError, match="validation"):
        LatentTree(select="validation").fit(three_causes())
    with pytest.raises(ValueError, match="bic or validation"):
        LatentTree(select="nothing").fit(three_causes())
