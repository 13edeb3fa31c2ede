"""Options as the library takes them."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np


def read_kinds(kind: Any) -> list[tuple[str, str]]:
    """Kinds by column name; `*` is every column that is not named."""
    if kind is None:
        return []
    if isinstance(kind, str):
        return [("*", kind)]
    if isinstance(kind, Mapping):
        for name, value in kind.items():
            if not isinstance(value, str):
                raise TypeError(f"kind: {value!r} given for {name!r}; categorical, binary, continuous, count or ignore is needed")
        return [(str(name), value) for name, value in kind.items()]
    raise TypeError(f"kind: {kind!r} given; the name of a kind, or a dict of column names and kinds is needed")


def read_n_jobs(n_jobs: Any) -> int:
    """Number of threads; 0 is all cores."""
    if n_jobs is None:
        return 0
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral):
        raise TypeError(f"n_jobs: {n_jobs!r} given; a whole number is needed")
    if n_jobs == 0:
        raise ValueError("n_jobs: 0 given; give a number of threads, or -1 for all cores")
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    # More than the library allows is refused there.
    return min(int(n_jobs), 2**31)


def read_seed(random_state: Any) -> int:
    """The seed; None is 0, so that the same data give the same model."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    if isinstance(random_state, bool) or not isinstance(random_state, numbers.Integral):
        raise ValueError(f"random_state: {random_state!r} cannot be used to seed; give a whole number ≥ 0")
    seed = int(random_state)
    if not 0 <= seed < 2**64:
        raise ValueError(f"random_state: {seed} given; a whole number from 0 to 2**64 - 1 is needed")
    return seed


def plain(value: Any) -> Any:
    """Numbers of numpy as Python's."""
    return value.item() if isinstance(value, np.generic) else value
