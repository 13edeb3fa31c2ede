"""Matching the columns of a new table to those of `fit`."""

from __future__ import annotations

from typing import Any

from . import _data
from ._warnings import warn_all


def match_features(data: _data.Data, who: str, known: list[str] | None, n_expected: int | None) -> None:
    """Renames the columns of a new table as in `fit`, or raises.

    Named columns are matched by name, in any order; others by position.
    """
    if known is not None and data.names is not None and set(known) != set(data.names):
        # A frame that nobody gave names numbers its columns.
        if any(isinstance(label, str) for label in data.labels):
            raise ValueError(_names_differ(known, data.names))
        warn_all([f"X does not have valid feature names, but {who} was fitted with feature names"], stacklevel=5)
        data.names = None
    if n_expected is not None and data.n_columns != n_expected:
        raise ValueError(f"X has {data.n_columns} features, but {who} is expecting {n_expected} features as input.")
    if known is None:
        if data.names is not None and any(isinstance(label, str) for label in data.labels):
            warn_all([f"X has feature names, but {who} was fitted without feature names"], stacklevel=5)
        data.names = None
    elif data.names is None:
        data.names = known


def _names_differ(known: list[str], given: list[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unexpected, missing = sorted(set(given) - set(known)), sorted(set(known) - set(given))
    for title, names in (
        ("Feature names unseen at fit time", unexpected),
        ("Feature names seen at fit time, yet now missing", missing),
    ):
        if names:
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
    return message


def original_columns(labels: Any, names: list[str], wanted: list[str]) -> Any:
    """The pandas labels of some columns: part of the index of the fitted frame, if there is one."""
    if labels is None:
        return wanted
    position = {name: ix for ix, name in enumerate(names)}
    return labels[[position[name] for name in wanted]]
