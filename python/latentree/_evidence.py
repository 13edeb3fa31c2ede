"""Evidence for queries and samples, as pairs of names and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _data, _latentree
from ._options import column_name

_NEEDED = "a dict of names and values, a pandas Series, or a data frame of one row is needed"


def read_evidence(given: Any, model: _latentree.Model, features: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Names and values as strings, without missing values.

    A row may contain columns of the fitted table (`features` are all of them) that are not variables of the model.
    """
    if given is None:
        return []
    pairs = _pairs(given)
    labels = {name: states for name, _, _, states in model.nodes()} | {name: states for name, _, states in model.columns()}
    left_out = set() if isinstance(given, Mapping) else set(features) - set(labels)
    found = []
    for name, value in pairs:
        name = column_name(name)
        if _data.is_missing(value) or name in left_out:
            continue
        text = _data.label_text(value)
        if isinstance(value, (bool, np.bool_)) and text not in (labels.get(name) or [text]):
            text = str(int(value))
        found.append((name, text))
    return found


def _pairs(given: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(given, Mapping):
        return given.items()
    if _data.is_instance(given, "pandas", "Series"):
        return zip(given.index.tolist(), given.tolist())
    if _data.is_instance(given, "pandas", "DataFrame"):
        _check_one_row(len(given))
        return [(name, given.iloc[0, ix]) for ix, name in enumerate(given.columns.tolist())]
    if _data.is_instance(given, "polars", "DataFrame"):
        _check_one_row(given.height)
        return given.row(0, named=True).items()
    if _data.is_instance(given, "pyarrow", "Table", "RecordBatch"):
        _check_one_row(given.num_rows)
        return given.to_pylist()[0].items()
    if _data.is_instance(given, "polars", "Series"):
        values = given.to_list()
        if len(values) == 1 and isinstance(values[0], Mapping):
            return values[0].items()
        raise TypeError("given: a polars Series does not name its values; give a data frame of one row, or a dict")
    raise TypeError(f"given: {type(given).__name__} given; {_NEEDED}")


def _check_one_row(n_rows: int) -> None:
    if n_rows != 1:
        raise ValueError(f"given: a data frame of {n_rows} rows given; {_NEEDED}")
