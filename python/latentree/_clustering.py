"""Hierarchies of clusters by moments."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _latentree
from ._mixture import RowGroups, read_number, read_switch
from ._options import ending, read_n_jobs, read_seed, read_text_or_none, read_whole
from ._progress import Progress
from ._warnings import warn_all

#: What the ending of a file asks for.
_FORMATS = {
    "": "json",
    ".json": "json",
    ".nwk": "newick",
    ".newick": "newick",
    ".tree": "newick",
    ".dot": "dot",
    ".gv": "dot",
    ".graphml": "graphml",
    ".txt": "text",
}


class HierarchicalClustering(RowGroups):
    """Hierarchy of clusters: rows are split in two again and again, by the moments of the rows of each cluster.

    Parameters
    ----------
    n_clusters : int or "auto", optional
        Number of leaves; the split with the largest gain comes first. ``"auto"``, the default, splits as long as BIC rises.
    depth : int, optional
        Number of levels instead, all rows being the first: up to ``2**(depth - 1)`` leaves.
    method : str, optional
        ``d-sidiwo`` (default): rows go to the direction they are more aligned with. ``sidiwo``: to the more probable of two centres.
    family : str, optional
        Distribution of a cluster's rows, for ``sidiwo``, EM and the gain of a split: ``poisson``, ``single-topic``, ``gaussian``,
        ``bernoulli`` or ``categorical``. By default what the kinds of the columns suggest.
    em : bool, default=False
        Whether EM refines each split.
    min_size : int, default=1
        Rows that a cluster has at least.
    kind, handle_unknown, random_state, n_jobs, verbose :
        As in `Mixture`.

    Attributes
    ----------
    labels_ : array of int
        The leaf of every row, from 0.
    n_clusters_ : int
        Number of leaves.
    children_ : array of shape (n_clusters_ - 1, 2)
        The two children of each inner node, from the bottom up, as in scikit-learn's AgglomerativeClustering: numbers below
        ``n_clusters_`` are leaves, ``n_clusters_ + i`` is the node of row i. The last one holds all rows.
    nodes_ : list of dict
        All nodes, parents first: name, parent, leaf (its number, or None), size and relevant features.
    model_ : GroupModel
        The hierarchy.
    report_ : dict
        What ``latentree cluster --json`` prints.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(4, size=400)
    >>> rows = np.array([[0, 0], [0, 9], [9, 1], [9, 9]])[group] + rng.normal(size=(400, 2))
    >>> clusters = HierarchicalClustering(4).fit(rows)
    >>> clusters.children_.shape
    (3, 2)
    >>> len({(a, b) for a, b in zip(group.tolist(), clusters.labels_.tolist())})
    4
    """

    def __init__(
        self,
        n_clusters: int | str | None = None,
        *,
        depth: int | None = None,
        method: str | None = None,
        family: str | None = None,
        em: bool = False,
        min_size: int = 1,
        kind: str | Mapping[str, str] | None = None,
        handle_unknown: str = "missing",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.depth = depth
        self.method = method
        self.family = family
        self.em = em
        self.min_size = min_size
        self.kind = kind
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _request(self, seed: int) -> dict[str, Any]:
        if self.depth is not None and self.n_clusters is not None:
            raise ValueError("depth: given together with n_clusters; give one of them")
        min_size = min(read_whole("min_size", self.min_size, 1), 2**32 - 1)
        return {
            "depth": None if self.depth is None else read_number("depth", self.depth, "a whole number"),
            "leaves": None if self.n_clusters is None else read_number("n_clusters", self.n_clusters),
            "family": read_text_or_none("family", self.family),
            "method": read_text_or_none("method", self.method),
            "em": read_switch("em", self.em),
            "min_size": min_size,
            "seed": seed,
        }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HierarchicalClustering:
        """Split rows into a hierarchy. ``y`` is ignored."""
        request = self._request(read_seed(self.random_state))
        data, table = self._read_rows(X, sample_weight)
        with Progress() as progress:
            display = progress if self.verbose else None
            model, nodes, report = _latentree.fit_clusters(table, request, read_n_jobs(self.n_jobs), display)
        self.model_: Any = model
        self.report_ = json.loads(report)
        self.labels_ = self._leaf_numbers()[nodes]
        self.n_clusters_ = self.report_["leaves"]
        self.children_ = self._children()
        self._note_features(data)
        warn_all([*table.warnings, *self.report_["warnings"]], stacklevel=3)
        return self

    def _stability(self, X: Any, n_runs: int) -> float:
        _, table = self._read_rows(X)
        request = self._request(read_seed(self.random_state))
        return _latentree.cluster_stability(table, request, n_runs, read_n_jobs(self.n_jobs))

    def _leaf_numbers(self) -> np.ndarray:
        """The number of the leaf at each node, -1 at inner nodes."""
        is_leaf = np.array([children is None for _, _, children, _, _ in self._fitted().nodes()])
        return np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)

    def _children(self) -> np.ndarray:
        nodes = self._fitted().nodes()
        numbers_of = self._leaf_numbers()
        n_leaves = int((numbers_of >= 0).sum())
        rows: list[tuple[int, int]] = []
        # Parents come before their children, so that from the end every child has its number.
        for ix in range(len(nodes) - 1, -1, -1):
            children = nodes[ix][2]
            if children is not None:
                numbers_of[ix] = n_leaves + len(rows)
                rows.append((int(numbers_of[children[0]]), int(numbers_of[children[1]])))
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    @property
    def nodes_(self) -> list[dict[str, Any]]:
        """All nodes, parents first."""
        nodes, leaves = self._fitted().nodes(), self._leaf_numbers()
        return [
            {
                "name": name,
                "parent": None if parent is None else nodes[parent][0],
                "leaf": int(leaf) if leaf >= 0 else None,
                "size": size,
                "relevant": relevant,
            }
            for (name, parent, _, size, relevant), leaf in zip(nodes, leaves)
        ]

    def predict(self, X: Any) -> np.ndarray:
        """The leaf of every row."""
        return self._leaf_numbers()[self._assign(X)]

    def _assign(self, X: Any) -> np.ndarray:
        return self._fitted().assign(self._read(X), read_n_jobs(self.n_jobs))

    def transform(self, X: Any) -> np.ndarray:
        """Indicators of the nodes that a row is in, from all rows down to its leaf: one column for every node but the first."""
        nodes = self._fitted().nodes()
        paths = np.zeros((len(nodes), len(nodes)))
        for ix, (_, parent, _, _, _) in enumerate(nodes):
            if parent is not None:
                paths[ix] = paths[parent]
            paths[ix, ix] = 1.0
        found = paths[self._assign(X)]
        return found[:, 1:] if len(nodes) > 1 else found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: those of the nodes."""
        names = [name for name, _, _, _, _ in self._fitted().nodes()]
        return np.asarray(names[1:] or names, dtype=object)

    def to_newick(self) -> str:
        """The hierarchy as Newick text."""
        return self._fitted().render("newick")

    def to_text(self) -> str:
        """The hierarchy as indented text, with sizes and relevant features."""
        return self._fitted().render("text")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (``.json``), or the tree alone (``.nwk``, ``.dot``, ``.graphml``, ``.txt``)."""
        text = os.fspath(path)
        if ending(text) not in _FORMATS:
            known = ", ".join(known for known in _FORMATS if known)
            raise ValueError(f"save: no format has the extension of {text!r}; use one of {known}")
        self._fitted().write(text, _FORMATS[ending(text)])
