"""Events and clinical data sets as sparse matrices."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _latentree
from ._options import read_list, read_share, read_text_or_none, read_whole
from ._warnings import LatentTreeWarning

_Path = str | os.PathLike[str]
_ItemFile = _Path | tuple[_Path, str, str]


class Events(NamedTuple):
    """Rows of events: a sparse matrix, the names and codes of its columns, and the ids of its rows."""

    matrix: Any
    names: npt.NDArray[np.object_]
    codes: npt.NDArray[np.object_]
    ids: npt.NDArray[np.object_]


def _item_file(argument: str, file: _ItemFile | None) -> Any:
    if file is None or isinstance(file, (str, os.PathLike)):
        return None if file is None else os.fspath(file)
    if not isinstance(file, tuple) or len(file) != 3:
        raise TypeError(f"{argument}: {file!r} given; a path, or a tuple of a path and the names of two columns, is needed")
    path, *columns = file
    return os.fspath(path), *(read_text_or_none(argument, column, "the name of a column") for column in columns)


def _read(path: _Path, given: dict[str, Any]) -> Events:
    from scipy.sparse import csr_matrix

    for name in ("rollup", "descriptions"):
        given[name] = _item_file(name, given[name])
    if given["unmapped"] not in ("keep", "drop"):
        raise ValueError(f"unmapped={given['unmapped']!r} is not 'keep' or 'drop'")
    codes = given["codes"]
    given["codes"] = [codes] if isinstance(codes, str) else read_list("codes", codes, "a pattern or a list of patterns")
    for name in ("min_rows", "min_items"):
        if given[name] is not None:
            given[name] = read_whole(name, given[name], 0)
    for name in ("max_share", "coverage"):
        given[name] = read_share(name, given[name])
    for name in ("time", "since", "until", "split"):
        read_text_or_none(name, given.get(name), "a text")
    for name, value in zip(("row", "item", "value"), given.get("events", ())):
        if not isinstance(value, str) and (value is not None or name != "value"):
            raise TypeError(f"{name}: {value!r} given; the name of a column is needed")
    if not isinstance(given["count"], (bool, np.bool_)):
        raise TypeError(f"count: {given['count']!r} given; True or False is needed")
    if given["subjects"] is not None:
        given["subjects"] = os.fspath(given["subjects"])
    starts, columns, values, names, found, ids, notes = _latentree.read_events(os.fspath(path), given)
    for note in notes:
        warnings.warn(note, LatentTreeWarning, stacklevel=3)
    matrix = csr_matrix((values, columns, starts), shape=(len(starts) - 1, len(names)))
    return Events(matrix, *(np.asarray(texts, dtype=object) for texts in (names, found, ids)))


def read_events(
    path: _Path,
    row: str,
    item: str,
    value: str | None = None,
    *,
    count: bool = False,
    rollup: _ItemFile | None = None,
    unmapped: str = "keep",
    descriptions: _ItemFile | None = None,
    codes: str | Sequence[str] = (),
    min_rows: int | None = None,
    max_share: float | None = None,
    coverage: float | None = None,
    min_items: int | None = None,
    subjects: _Path | None = None,
    time: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Events:
    """Read long events (CSV, TSV, Parquet or Arrow) as a sparse matrix: a row per id and a column per item.

    Cells say whether the item is there; they count it with ``count``, and with ``value`` they add up that column. Options are those of the
    command line. ``rollup`` and ``descriptions`` are a path, or a tuple of a path and the names of its two columns.
    """
    given = {name: of for name, of in locals().items() if name not in ("path", "row", "item", "value")}
    return _read(path, {**given, "events": (row, item, value)})


def read_meds(
    path: _Path,
    *,
    split: str | None = None,
    count: bool = False,
    rollup: _ItemFile | None = None,
    unmapped: str = "keep",
    descriptions: _ItemFile | None = None,
    codes: str | Sequence[str] = (),
    min_rows: int | None = None,
    max_share: float | None = None,
    coverage: float | None = None,
    min_items: int | None = None,
    subjects: _Path | None = None,
    time: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Events:
    """Read a MEDS data set, the folder above ``data``, as a sparse matrix: a row per subject and a column per code.

    Columns are named by the descriptions in ``metadata/codes.parquet``. Codes of fewer than 20 subjects are left out unless ``min_rows`` says
    otherwise. ``split`` reads only the subjects of one split.
    """
    given = {name: of for name, of in locals().items() if name != "path"}
    return _read(path, {**given, "format": "meds"})
