"""Conversion of options to the form that the library expects."""

from __future__ import annotations

import numbers
import os
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def read_kinds(kind: Any) -> list[tuple[str, str]]:
    """Kinds by column name; `*` stands for every column that is not named."""
    if kind is None:
        return []
    if isinstance(kind, str):
        return [("*", kind)]
    if isinstance(kind, Mapping):
        for name, value in kind.items():
            if not isinstance(value, str):
                raise TypeError(f"kind: {value!r} given for {name!r}; categorical, binary, continuous, count or ignore is needed")
        return [(column_name(name), value) for name, value in kind.items()]
    raise TypeError(f"kind: {kind!r} given; the name of a kind, or a dict of column names and kinds is needed")


def read_whole(argument: str, value: Any, least: int | None = None) -> int:
    """A whole number, or an error that names the argument."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{argument}: {value!r} given; a whole number is needed")
    if least is not None and value < least:
        raise ValueError(f"{argument}: {value} given; {least} or more is needed")
    if value >= 2**63:
        raise ValueError(f"{argument}: {value} given; a number below 2**63 is needed")
    return int(value)


def read_share(argument: str, value: Any) -> float | None:
    """A number or None, or an error that names the argument; the library checks its range."""
    value = plain(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise TypeError(f"{argument}: {value!r} given; a share from 0 to 1 is needed")
    return value


def read_list(argument: str, values: Any, needed: str = "a list of names") -> list[Any]:
    """The elements of a list, or an error that names the argument: a text alone would be taken for the list of its letters."""
    if isinstance(values, (str, bytes, os.PathLike)):
        raise TypeError(f"{argument}: {values!r} given; {needed} is needed, such as [{values!r}]")
    if not isinstance(values, Iterable):
        raise TypeError(f"{argument}: {values!r} given; {needed} is needed")
    return list(values)


def read_n_jobs(n_jobs: Any) -> int:
    """Number of threads; 0 means all cores."""
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


def read_min_count(min_count: Any) -> int | None:
    """How often a label must occur not to be merged into `(other)`."""
    return None if min_count is None else read_whole("min_count", min_count, 1)


def read_text_or_none(argument: str, value: Any, needed: str = "a name") -> str | None:
    """A text or None, or an error that names the argument."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{argument}: {value!r} given; {needed} is needed")
    return value


def read_handle_unknown(handle_unknown: Any) -> str:
    """What becomes of labels that the fitted table did not have."""
    if handle_unknown not in ("missing", "error"):
        raise ValueError(f"handle_unknown: {handle_unknown!r} given; 'missing' or 'error' is needed")
    return handle_unknown


def draw_seed(*random_states: Any) -> int:
    """The seed of something that is to differ from call to call: the first one given, or fresh entropy."""
    given = next((it for it in random_states if it is not None), None)
    return secrets.randbits(63) if given is None else read_seed(given)


def read_seed(random_state: Any) -> int:
    """The seed of fitting; None is 0, so that the same data give the same model."""
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


def ending(path: str) -> str:
    """The ending of a file's name in small letters, without that of a compression."""
    stem, last = os.path.splitext(os.path.basename(path))
    return (os.path.splitext(stem)[1] if last.lower() in (".gz", ".zst") else last).lower()


def column_name(label: Any) -> str:
    """The name of a column that another library calls by any object; the same for a number of numpy and of Python."""
    return str(tuple(plain(part) for part in label)) if isinstance(label, tuple) else str(plain(label))


def plain(value: Any) -> Any:
    """Numbers of numpy as Python's."""
    return value.item() if isinstance(value, np.generic) else value
