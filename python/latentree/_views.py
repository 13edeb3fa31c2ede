"""What a fitted tree shows: its groups, tables, page, files and pictures."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _data, _graph, _latentree, _meaning
from ._options import ending, read_whole

#: What the ending of a file asks for; none asks for the model file.
_FORMATS = {
    "": "json",
    ".json": "json",
    ".nwk": "newick",
    ".newick": "newick",
    ".tree": "newick",
    ".dot": "dot",
    ".gv": "dot",
    ".graphml": "graphml",
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".txt": "text",
}


class TreeViews:
    """The views of a fitted `LatentTree`, which reads rows and knows whether it is fitted."""

    hidden_: list[str]

    def _fitted(self) -> _latentree.Model:
        raise NotImplementedError

    def _read(self, X: Any, sample_weight: Any = None) -> tuple[_data.Data, _latentree.Table]:
        raise NotImplementedError

    # ---- what it means

    @property
    def groups_(self) -> Any:
        """The groups of variables as a data frame, from broad to fine: a row for each, with the name and the label of its hidden variable,
        its level (1 is broad) and the group around it, the share of rows in the states that the group is about, support, a
        description and its variables, the most informative first."""
        return _meaning.groups(self._fitted())

    @property
    def tables_(self) -> dict[str, Any]:
        """By variable, a data frame of its distribution given its parent: a row for each state of the parent."""
        return _meaning.tables(self._fitted())

    @property
    def kinds_(self) -> dict[str, str]:
        """What each column was taken for: ``binary``, ``categorical``, ``continuous`` or ``count``."""
        return {name: kind for name, kind, _ in self._fitted().columns()}

    def summary(self) -> str:
        """What the model says, as text: its size and fit, and the (broad) groups of variables with their states in words."""
        model = self._fitted()
        report = getattr(self, "report_", {})
        n_observed = sum(observed for _, observed, _, _ in model.nodes())
        lines = [f"{n_observed} observed and {len(self.hidden_)} hidden variables"]
        if report.get("rows") is not None:
            lines[0] += f", {report['rows']} rows"
        if report.get("bic") is not None:
            lines.append(f"log-likelihood {report['log_likelihood']:.2f}, BIC {report['bic']:.2f} (larger is better)")
        return "\n".join([*lines, "", model.summary().rstrip()]) if model.has_tables else lines[0]

    def report(self, path: str | os.PathLike[str], X: Any = None, *, title: str = "latentree") -> None:
        """Writes the page to look at and click through, one self-contained HTML file; with rows also how well they fit."""
        text = os.fspath(path)
        if ending(text) not in (".html", ".htm"):
            raise ValueError(f"report: {text!r} given; a page ends in .html")
        model = self._fitted()
        model.write_page(text, title, None if X is None else self._read(X)[1])

    # ---- the tree

    def edges(self) -> list[tuple[str, str, float | None, float | None]]:
        """The edges: parent, child, length and support (by the test, or else the bootstrap's share; None where not known)."""
        return self._fitted().edges()

    def items(self, n: int = 4) -> dict[str, list[str]]:
        """Every hidden variable with the ``n`` nearest observed variables on the tree."""
        return _graph.nearest_items(self._fitted(), read_whole("n", n, 0))

    def distances(self) -> tuple[np.ndarray, list[str]]:
        """Distances between the observed variables along the tree, and their names.

        Trees from ``select`` and ``hclt`` have no estimated lengths; theirs are ``-ln`` of the model's correlation between the two
        ends of an edge.
        """
        names, matrix = self._fitted().path_lengths()
        # Sums along a path from either end differ in their last bits.
        lower = np.tril(matrix, -1)
        return lower + lower.T, names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, or another format chosen by the extension.

        The extensions are ``.json`` (also the default), ``.nwk``, ``.dot``, ``.graphml``, ``.bif``, ``.xmlbif`` and ``.txt``;
        ``.gz`` or ``.zst`` compresses.
        """
        text = os.fspath(path)
        model = self._fitted()
        if ending(text) not in _FORMATS:
            known = ", ".join(known for known in _FORMATS if known)
            raise ValueError(f"save: no format has the extension of {text!r}; use one of {known}")
        model.write(text, _FORMATS[ending(text)])

    def to_newick(self) -> str:
        """The tree as Newick text."""
        return self._fitted().render("newick")

    def to_bif(self) -> str:
        """The model as BIF, for other programs; discrete models only."""
        return self._fitted().render("bif")

    def to_json(self) -> str:
        """The text of the model file."""
        return self._fitted().render("json")

    def to_text(self) -> str:
        """The tree as indented text."""
        return self._fitted().render("text")

    def to_networkx(self) -> Any:
        """The tree as a networkx DiGraph from parents to children; node and edge attributes hold the whole model."""
        return _graph.to_networkx(self._fitted())

    def plot(self, ax: Any = None, *, layout: str = "radial", labels: bool = True, n_items: int = 0) -> Any:
        """Draw the tree with matplotlib and return the axes.

        ``layout`` is ``"radial"`` or ``"layered"``. ``n_items`` labels hidden variables with that many of their nearest items.
        """
        return _graph.plot(self._fitted(), ax, layout, labels, read_whole("n_items", n_items, 0))

    def _repr_html_(self) -> str:
        if not hasattr(self, "model_"):
            return _graph.pre(repr(self))
        return _graph.html_summary(repr(self), self.model_, getattr(self, "report_", None))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
