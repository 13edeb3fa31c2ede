"""Mergeable statistics."""

from __future__ import annotations

import os
from typing import Any

from . import _data, _graph, _latentree
from ._options import ending, read_handle_unknown, read_kinds, read_n_jobs
from ._warnings import warn_all


class Moments:
    """First and second moments of all pairs of columns, for learning trees without keeping or sharing rows.

    `update` adds rows, `merge` adds other moments. Moments can be pickled, and saved as files for the command line (`save`).

    Parameters
    ----------
    kind : str or dict, optional
        What columns are, against what their values look like: ``"binary"``, ``"categorical"``, ``"continuous"``, ``"count"`` or
        ``"ignore"`` for all columns, or by column name (``"*"`` is every column that is not named).
    n_jobs : int, optional
        Number of threads; by default all cores.
    handle_unknown : str, default="error"
        Labels in later rows that the first rows did not have: ``"error"``, or ``"missing"`` cells with a warning. Missing cells
        bias the statistics: better give the first rows as categories that list all levels.
    tree : str, path, LatentTree or networkx graph, optional
        Collect what the tables of this tree need, too, so that `LatentTree.fit` learns a whole model from the moments. The first rows make the
        plan; moments of other rows merge if they have the same (`empty`).
    n_states : int, optional
        States of the hidden variables of ``tree``; by default 2.

    Examples
    --------
    >>> import numpy as np
    >>> from latentree import LatentTree, Moments
    >>> rows = np.random.default_rng(0).integers(2, size=(100, 4))
    >>> here, there = Moments().update(rows[:60]), Moments().update(rows[60:])
    >>> here.merge(there).n_rows
    100
    """

    def __init__(
        self,
        kind: Any = None,
        n_jobs: int | None = None,
        handle_unknown: str = "error",
        tree: Any = None,
        n_states: int | None = None,
    ) -> None:
        self.kind = kind
        self.n_jobs = n_jobs
        self.handle_unknown = handle_unknown
        self.tree = tree
        self.n_states = n_states
        self._sums = _latentree.Moments()

    def update(self, X: Any, sample_weight: Any = None) -> Moments:
        """Add rows. The first batch determines the kinds of the columns."""
        data = _data.read(X, "Moments")
        weights = _data.read_weights(sample_weight, data.n_rows)
        is_first = not self._sums.names
        handle_unknown = read_handle_unknown(self.handle_unknown)
        table = data.table(read_kinds(self.kind), weights, None if is_first else self._sums, handle_unknown)
        warn_all([*table.warnings, *table.unseen], stacklevel=3)
        tree = _graph.tree_text(self.tree) if is_first else None
        self._sums.update(table, read_n_jobs(self.n_jobs), tree, self.n_states)
        return self

    def merge(self, other: Moments) -> Moments:
        """Add the rows of other moments."""
        if not isinstance(other, Moments):
            raise TypeError(f"Moments are needed, not {type(other).__name__}")
        if other is self:
            other = self.copy()
        self._sums.merge(other._sums)
        return self

    def copy(self) -> Moments:
        """Moments that have seen the same rows."""
        new = Moments(self.kind, self.n_jobs, self.handle_unknown, self.tree, self.n_states)
        new._sums = _latentree.Moments.from_bytes(self._sums.to_bytes())
        return new

    def empty(self) -> Moments:
        """Moments of the same columns, for the same tree and by the same plan, that have seen no rows."""
        new = Moments(self.kind, self.n_jobs, self.handle_unknown, self.tree, self.n_states)
        new._sums = self._sums.empty()
        return new

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return self.copy().merge(other)

    @property
    def n_rows(self) -> int:
        """Number of rows seen."""
        return self._sums.n_rows

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        return self._sums.total_weight

    @property
    def names(self) -> list[str]:
        """Names of the columns; empty before the first rows."""
        return self._sums.names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.moments`` file; ``.moments.gz`` and ``.moments.zst`` are compressed."""
        text = os.fspath(path)
        if ending(text) != ".moments":
            raise ValueError(f"save: {text!r} given; the name of a file that ends in .moments (.gz, .zst) is needed")
        self._sums.save(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read a ``.moments`` file."""
        new = cls()
        new._sums = _latentree.Moments.load(os.fspath(path))
        return new

    def to_bytes(self) -> bytes:
        """The moments as versioned bytes, for a message or a database."""
        return self._sums.to_bytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> Moments:
        """Restore moments from the result of `to_bytes`."""
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError(f"bytes are needed, not {type(content).__name__}")
        new = cls()
        new._sums = _latentree.Moments.from_bytes(bytes(content))
        return new

    def __getstate__(self) -> dict[str, Any]:
        options = {"kind": self.kind, "n_jobs": self.n_jobs, "handle_unknown": self.handle_unknown}
        return options | {"sums": self._sums.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.kind, self.n_jobs = state["kind"], state["n_jobs"]
        self.handle_unknown = state.get("handle_unknown", "error")
        self.tree = self.n_states = None
        self._sums = _latentree.Moments.from_bytes(state["sums"])

    def __repr__(self) -> str:
        return f"Moments({self.n_rows} rows, {len(self.names)} columns)"
