"""What a model says, as data frames."""

from __future__ import annotations

import json
from typing import Any

from . import _latentree

_COLUMNS = ["name", "label", "level", "parent", "share", "support", "description", "variables"]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this gives data frames; install pandas") from error
    return pandas


def groups(model: _latentree.Model) -> Any:
    """The groups of variables, a row for each."""
    found = json.loads(model.groups())
    return _pandas().DataFrame([[group[name] for name in _COLUMNS] for group in found], columns=_COLUMNS)


def tables(model: _latentree.Model) -> dict[str, Any]:
    """The distribution of every variable given its parent, a row for each state of the parent."""
    pandas = _pandas()
    file = json.loads(model.render("json"))
    if "tables" not in file:
        kind = "a spectral model" if model.is_spectral else "a tree alone"
        raise ValueError(f'{kind} has no tables; learn them by LatentTree(parameters="moments+em").fit(X)')
    labels = {name: states for name, _, _, states in model.nodes()}
    columns = {name: states for name, _, states in model.columns()}
    parents = {child: parent for parent, child, _, _ in model.edges()}

    def frame(name: str, table: dict[str, Any], states: list[str] | None) -> Any:
        parent = parents.get(name)
        above = None if parent is None else labels.get(parent)
        index = [""] if above is None else pandas.Index(above, name=parent)
        if "members" in table:
            frames = {member: frame(name, part, columns.get(member)) for member, part in table["members"].items()}
            return pandas.concat(frames, axis=1)
        if "prior" in table:
            return pandas.DataFrame([table["prior"]], index=index, columns=states)
        if "given" in table:
            return pandas.DataFrame(table["given"], index=index, columns=states)
        values = {key: value if isinstance(value, list) else [value] for key, value in table.items()}
        return pandas.DataFrame(values, index=index)

    return {name: frame(name, table, labels.get(name)) for name, table in file["tables"].items()}
