"""Conversion between tables of other libraries and our own.

Numeric arrays are read in place, without copying the whole table; text and categories are passed on as codes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _latentree
from ._options import column_name

Column = Any  # a one-dimensional array, a list of objects, or (codes, texts, are_levels)
_NATIVE = {np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")}


def label_text(value: Any) -> str:
    """The label that the library uses for a value: whole numbers without a decimal point, Booleans in lower case."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


class Data:
    """A table of another library, inspected but not yet read."""

    def __init__(self, source: Any, container: str, shape: tuple[int, int], names: list[str] | None) -> None:
        self.source = source
        self.container = container
        self.n_rows, self.n_columns = shape
        self.names = names
        #: The columns as their own library names them: pandas takes any object, not texts alone.
        self.labels: Any = names if names is not None else []
        self.levels: dict[str, list[Any]] = {}
        #: Columns of texts, also where these look like numbers.
        self.texts: set[str] = set()

    @property
    def column_names(self) -> list[str]:
        return self.names if self.names is not None else [f"x{ix + 1}" for ix in range(self.n_columns)]

    def table(
        self,
        kinds: list[tuple[str, str]],
        weights: np.ndarray | None = None,
        like: Any = None,
        handle_unknown: str | None = None,
        min_count: int | None = None,
    ) -> _latentree.Table:
        """Reads the table; its columns must match those of `like`, a model or moments."""
        called = self.column_names
        named = self.names is not None
        ignored = {name for name, kind in kinds if kind == "ignore"}
        settings = (kinds, weights, like, handle_unknown, min_count)
        if self.container == "sparse":
            csr = self.source
            starts, indices = (np.ascontiguousarray(part, dtype=np.int64) for part in (csr.indptr, csr.indices))
            values = np.ascontiguousarray(csr.data, dtype=np.float64)
            return _latentree.Table.from_sparse(called, named, starts, indices, values, *settings)
        if self.container == "numpy" and self.source.dtype != object:
            return _latentree.Table.from_matrix(called, named, self.source, *settings)
        columns: list[Column] = []
        for ix, name in enumerate(called):
            columns.append(np.full(self.n_rows, np.nan) if name in ignored else self.column(ix, name))
        return _latentree.Table.from_columns(called, named, columns, *settings)

    def column(self, ix: int, name: str) -> Column:
        if self.container == "pandas":
            return self._pandas_column(self.source.iloc[:, ix], name)
        if self.container == "polars":
            return self._polars_column(self.source.to_series(ix), name)
        if self.container == "pyarrow":
            return self._pyarrow_column(self.source.column(ix), name)
        return self._objects(self.source[:, ix].tolist(), name)

    def _pandas_column(self, column: Any, name: str) -> Column:
        import pandas as pd

        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            self.levels[name] = dtype.categories.tolist()
            codes = column.cat.codes.to_numpy().astype(np.int64)
            return codes, [label_text(level) for level in self.levels[name]], True
        if isinstance(dtype, np.dtype) and dtype.kind in "biufc":
            return _numbers(column.to_numpy(), name)
        if pd.api.types.is_bool_dtype(dtype):
            return column.tolist()
        if pd.api.types.is_numeric_dtype(dtype):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
            raise _is_time(name)
        if isinstance(dtype, pd.StringDtype):
            codes, texts = pd.factorize(column)
            self.texts.add(name)
            return codes.astype(np.int64), [str(text) for text in texts], False
        return self._objects(column.tolist(), name)

    def _objects(self, cells: list[Any], name: str) -> Column:
        if any(isinstance(cell, str) for cell in cells):
            self.texts.add(name)
        return cells

    def _polars_column(self, column: Any, name: str) -> Column:
        import polars as pl

        dtype = column.dtype
        if dtype == pl.Enum:
            self.levels[name] = dtype.categories.to_list()
            codes = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            return codes, self.levels[name], True
        if dtype == pl.Boolean:
            return column.to_list() if column.null_count() else column.to_numpy()
        if dtype == pl.Decimal:
            return column.cast(pl.Float64).to_numpy()
        if dtype.is_numeric():
            return _numbers(column.to_numpy(), name)
        if dtype in (pl.String, pl.Categorical):
            self.texts.add(name)
            texts = column.cast(pl.String)
            known = texts.drop_nulls().unique(maintain_order=True).to_list()
            if not known:
                return np.full(self.n_rows, np.nan)
            codes = texts.replace_strict(known, range(len(known)), default=None, return_dtype=pl.Int64)
            return codes.fill_null(-1).to_numpy(), known, False
        if dtype == pl.Null:
            return np.full(self.n_rows, np.nan)
        if dtype.is_temporal():
            raise _is_time(name)
        raise TypeError(f"column {name!r}: its type {dtype} is not numeric, Boolean or text")

    def _pyarrow_column(self, column: Any, name: str) -> Column:
        import pyarrow as pa

        kind, types = column.type, pa.types
        is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        if is_text or types.is_dictionary(kind):
            is_levels = types.is_dictionary(kind)
            if types.is_string_view(kind):
                column = column.cast(pa.string())
            encoded = (column if is_levels else column.dictionary_encode()).unify_dictionaries().combine_chunks()
            if isinstance(encoded, pa.ChunkedArray):  # it had no chunks
                return np.full(self.n_rows, np.nan)
            texts = encoded.dictionary.to_pylist()
            if is_levels:
                self.levels[name] = texts
            else:
                self.texts.add(name)
            codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
            return codes, [label_text(text) for text in texts], is_levels
        if types.is_boolean(kind):
            return column.to_pylist() if column.null_count else column.to_numpy()
        if types.is_decimal(kind):
            return column.cast(pa.float64()).to_numpy()
        if types.is_integer(kind) or types.is_floating(kind):
            return _numbers(column.to_numpy(), name)
        if types.is_null(kind):
            return np.full(self.n_rows, np.nan)
        if types.is_temporal(kind):
            raise _is_time(name)
        raise TypeError(f"column {name!r}: its type {kind} is not numeric, Boolean or text")


def _is_time(name: str) -> TypeError:
    return TypeError(f"column {name!r}: it holds dates or times; leave it out (kind={{{name!r}: \"ignore\"}}), or make it a number")


def _numbers(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\ncolumn {name!r}: {array.dtype}")
    if array.dtype in _NATIVE and array.dtype.isnative:
        return array
    return array.astype(np.float64)


def is_instance(value: Any, module: str, *classes: str) -> bool:
    """Whether a value is of another library's class, without importing the library."""
    library = sys.modules.get(module)
    return library is not None and any(isinstance(value, getattr(library, name, ())) for name in classes)


def read(X: Any, who: str = "LatentTree") -> Data:
    """Inspects a table."""
    if is_instance(X, "scipy.sparse", "spmatrix", "sparray"):
        data = _read_sparse(X)
    elif is_instance(X, "pandas", "DataFrame"):
        data = Data(X, "pandas", X.shape, [column_name(label) for label in X.columns])
        data.labels = X.columns
    elif is_instance(X, "polars", "DataFrame"):
        data = Data(X, "polars", X.shape, list(X.columns))
    elif is_instance(X, "pyarrow", "Table"):
        data = Data(X, "pyarrow", X.shape, list(X.column_names))
    elif is_instance(X, "polars", "LazyFrame"):
        raise TypeError("a LazyFrame has no rows yet: give X.collect()")
    elif is_instance(X, "pyarrow", "RecordBatch") or (hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__")):
        import pyarrow as pa

        data = read(pa.table(X) if not is_instance(X, "pyarrow", "RecordBatch") else pa.Table.from_batches([X]), who)
    else:
        data = _read_array(X, who)
    if data.n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={(0, data.n_columns)}) while a minimum of 1 is required by {who}.")
    if data.n_columns == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={(data.n_rows, 0)}) while a minimum of 1 is required by {who}.")
    return data


def _read_sparse(X: Any) -> Data:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse array with {X.ndim} dimensions instead")
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X!r}\n")
    if X.dtype.kind not in "biuf":
        raise TypeError(f"sparse rows of {X.dtype} cannot be read; they must hold numbers")
    return Data(X.tocsr(), "sparse", X.shape, None)


def _read_array(X: Any, who: str) -> Data:
    if X is None or isinstance(X, (str, bytes, Mapping)) or callable(X):
        wanted = "an array, data frame, Arrow table, sparse matrix or list of rows"
        raise TypeError(f"{who} needs a table: {wanted}, not {type(X).__name__}")
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    array = X if isinstance(X, np.ndarray) else None
    if array is None:
        try:
            array = np.asarray(X)
        except ValueError as error:
            raise ValueError(f"the rows do not have the same length: {error}") from None
        # Numbers and texts side by side would all become texts.
        if array.dtype.kind not in "biufc":
            array = np.asarray(X, dtype=object)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.ndim == 0:
        raise ValueError(f"Expected 2D array, got scalar array instead:\narray={array}.\nReshape your data using reshape(-1, 1).")
    if array.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead:\narray={array}.\nReshape your data either using array.reshape(-1, 1) if "
            "your data has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}. {who} expected <= 2.")
    if array.dtype.kind in "mMV":
        raise TypeError(f"arrays of {array.dtype} cannot be read; give numbers, truth values or texts")
    if array.dtype.kind == "S":
        try:
            array = np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"the array holds bytes that are not UTF-8 ({error}); decode it first") from None
    if array.dtype.kind in "US" or array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype != object:
        array = _numbers(array, "all")
    return Data(array, "numpy", array.shape, None)


def read_weights(weights: Any, n_rows: int) -> np.ndarray | None:
    if weights is None:
        return None
    if isinstance(weights, (int, float, np.number)):
        return np.full(n_rows, float(weights))
    array = np.asarray(weights)
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"sample_weight: numbers are needed, not {array.dtype}") from None
    if array.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if array.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {array.shape}, expected {(n_rows,)}!")
    return np.ascontiguousarray(array, dtype=np.float64)


def label_values(labels: Iterable[str], levels: list[Any] | None, are_texts: bool = False) -> list[Any]:
    """The values that labels represent: their original levels, Booleans, numbers, or the labels themselves."""
    labels = list(labels)
    if are_texts:
        return labels
    if levels is not None:
        by_label = {label_text(level): level for level in levels}
        return [by_label.get(label, label) for label in labels]
    if labels == ["false", "true"]:
        return [False, True]
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return labels
    if any(label_text(number) != label for number, label in zip(numbers, labels)):
        return labels
    return [int(number) if number.is_integer() else number for number in numbers]


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def numbers_of_labels(labels: list[str] | None) -> list[float] | None:
    """The labels as numbers, if all of them are numbers."""
    try:
        numbers = [float(label) for label in labels or ["no label"]]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def fill(data: Data, values: np.ndarray, columns: list[tuple[str, str, list[str] | None]], are_means: bool) -> Any:
    """The table with its missing cells filled from `values` (codes or numbers, one column for each of `columns`).

    With `are_means`, columns whose labels are numbers hold means of these.
    """
    names = data.column_names
    position = {name: ix for ix, name in enumerate(names)}

    def filling(which: int) -> Callable[[np.ndarray], list[Any]]:
        name, _, labels = columns[which]
        numbers = numbers_of_labels(labels) if are_means else None
        holds_means = name not in data.levels and name not in data.texts
        if labels is None or (numbers is not None and holds_means):
            return lambda rows: values[rows, which].tolist()
        meant = label_values(labels, data.levels.get(name), name in data.texts)
        if numbers is not None:
            # Levels and texts have nothing between them: the one nearest to the mean.
            level = np.asarray(numbers)
            return lambda rows: [
                None if math.isnan(mean) else meant[int(np.abs(level - mean).argmin())] for mean in values[rows, which]
            ]
        # In a row of probability zero nothing is filled.
        return lambda rows: [None if math.isnan(code) else meant[int(code)] for code in values[rows, which]]

    if data.container in ("numpy", "sparse"):
        dense = data.source.toarray() if data.container == "sparse" else data.source
        is_object = dense.dtype == object
        out = dense.copy() if is_object or dense.dtype.kind == "f" else dense.astype(np.float64)
        for which, (name, _, _) in enumerate(columns):
            cells = out[:, position[name]]
            missing = np.array([is_missing(cell) for cell in cells]) if is_object else np.isnan(cells)
            rows = np.flatnonzero(missing)
            if rows.size:
                cells[rows] = filling(which)(rows)
        return out
    filled = {}
    for which, (name, _, _) in enumerate(columns):
        ix = position[name]
        if data.container == "pandas":
            column = data.source.iloc[:, ix]
            rows = np.flatnonzero(column.isna().to_numpy())
            if rows.size:
                import pandas as pd

                new = column.copy()
                wanted = filling(which)(rows)
                if pd.api.types.is_integer_dtype(column.dtype):
                    wanted = [None if value is None or math.isnan(value) else round(value) for value in wanted]
                new.iloc[rows] = wanted
                filled[ix] = new
        else:
            cells = data.source.to_series(ix).to_list() if data.container == "polars" else data.source.column(ix).to_pylist()
            rows = np.flatnonzero(np.array([is_missing(cell) for cell in cells]))
            if rows.size:
                for row, value in zip(rows.tolist(), filling(which)(rows)):
                    cells[row] = value
                filled[ix] = cells
    if data.container == "pandas":
        out = data.source.copy()
        for ix, new in filled.items():
            out.isetitem(ix, new)
        return out
    if data.container == "polars":
        import polars as pl

        parts = [data.source.to_series(ix) for ix in range(data.n_columns)]
        for ix, cells in filled.items():
            whole = parts[ix].dtype.is_integer()
            parts[ix] = pl.Series(
                parts[ix].name, [round(it) if whole and it is not None else it for it in cells], parts[ix].dtype
            )
        return pl.DataFrame(parts)
    import pyarrow as pa

    out = data.source
    for ix, cells in filled.items():
        field = out.schema.field(ix)
        if pa.types.is_dictionary(field.type):
            new = pa.array(cells, field.type.value_type).dictionary_encode().cast(field.type)
        else:
            whole = pa.types.is_integer(field.type)
            new = pa.array([round(it) if whole and it is not None else it for it in cells], field.type)
        out = out.set_column(ix, field, new)
    return out


def make(
    container: str,
    values: np.ndarray,
    columns: list[tuple[str, str, list[str] | None]],
    levels: dict[str, list[Any]],
    texts: set[str],
    labels: Any = None,
) -> Any:
    """A table of values (codes or numbers) in the container of the data that the model was fitted to.

    `labels` are the column labels in pandas, which need not be strings.
    """
    meant: list[Any] = []
    for which, (name, kind, own) in enumerate(columns):
        cells = values[:, which]
        if own is None:
            meant.append(cells.astype(np.int64) if kind == "count" else np.ascontiguousarray(cells))
        else:
            of_label = label_values(own, levels.get(name), name in texts)
            array = np.array(of_label)
            if array.dtype.kind not in "biuf":
                array = np.array(of_label, dtype=object)
            meant.append(array[cells.astype(np.int64)])
    names = [name for name, _, _ in columns]
    if container == "pandas":
        import pandas as pd

        frame = pd.DataFrame(dict(zip(names, meant)), columns=names)
        for name in names:
            if name in levels:
                frame[name] = pd.Categorical(frame[name], categories=levels[name])
        if labels is not None:
            frame.columns = labels
        return frame
    if container == "polars":
        import polars as pl

        as_levels = {name: pl.Enum(levels[name]) for name in names if name in levels}
        return pl.DataFrame({name: cells.tolist() for name, cells in zip(names, meant)}, schema_overrides=as_levels)
    if container == "pyarrow":
        import pyarrow as pa

        table = pa.table({name: pa.array(cells.tolist()) for name, cells in zip(names, meant)})
        for name in names:
            if name in levels:
                table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
        return table
    if not meant:
        return np.empty((len(values), 0))
    is_text = any(cells.dtype == object for cells in meant)
    return np.column_stack([cells.astype(object if is_text else np.float64) for cells in meant])
