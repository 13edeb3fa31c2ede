"""Learning from rows that are spread over processes, machines or sites.

`LatentTree.fit_passes` learns with a function ``run(task) -> bytes`` as its only source of data. Whoever holds a part of the rows answers a
task with `observe`, and `merge` joins the answers. `latentree.spark`, `latentree.dask` and `latentree.ray` are thin layers over the two.

>>> import pyarrow as pa
>>> from latentree import LatentTree
>>> from latentree.distributed import merge, observe
>>> parts = [pa.RecordBatch.from_pydict({"a": [0, 1, 1] * 20, "b": [0, 1, 1] * 20, "c": [0, 1, 0] * 20}) for _ in range(2)]
>>> tree = LatentTree(structure="clnj").fit_passes(lambda task: merge([observe(task, [part]) for part in parts]))
>>> tree.report_["rows"]
120
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _data, _latentree
from ._options import read_list, read_n_jobs

__all__ = ["SAMPLE_BYTES", "merge", "observe"]

#: Bytes of rows that searches bring to the driver by default.
SAMPLE_BYTES = 64 << 20
#: Rows of a batch that are handed over at once.
_SLICE_ROWS = 1 << 16
#: Begins the answer of a part with an error in its rows.
_FAILED = b"LTFAILED"
#: What tells the passes whose answers hold rows.
_MOVE_ROWS = (b"LTPASS1\n\x06sample", b"LTPASS1\n\x05codes")


def observe(task: bytes, batches: Iterable[Any], *, n_jobs: int = 1) -> bytes:
    """Run a task over the rows of a part.

    Parameters
    ----------
    task : bytes
        What `LatentTree.fit_passes` gave.
    batches : iterable of pyarrow.RecordBatch
        The rows; none is a part without rows. Arrow tables, data frames of pandas or polars and two-dimensional arrays work, too (arrays have the
        columns ``x1``, ``x2``, …). Sparse matrices need a task with a schema, and no weights.
    n_jobs : int, default=1
        Number of threads. The interpreter lock is released while they work.
    """
    _check_bytes("task", task, "the bytes that fit_passes gave to run")
    stream = iter([batches] if _is_table(batches) else _stream(batches))
    first = next(stream, None)
    if first is not None and _data.is_instance(first, "scipy.sparse", "spmatrix", "sparray"):
        return merge([_observe_sparse(task, part, n_jobs) for part in [first, *stream]])
    slices = _slices(() if first is None else _chain(first, stream))
    return _latentree.observe(task, lambda _: next(slices, b""), read_n_jobs(n_jobs))


def merge(answers: Sequence[bytes]) -> bytes:
    """Join the answers of parts. Counts do not depend on how rows are split, sums do up to rounding; the same answers in the same order give the
    same bytes."""
    answers = read_list("answers", answers, "a list of the bytes that observe returned")
    for answer in answers:
        _check_bytes("answers", answer, "a list of the bytes that observe returned")
    if not answers:
        raise ValueError("answers: there are none to merge; a part without rows has an answer, too: observe(task, [])")
    return _latentree.merge(answers)


def _check_bytes(argument: str, value: Any, needed: str) -> None:
    if not isinstance(value, bytes):
        raise TypeError(f"{argument}: {type(value).__name__} given; {needed} is needed")


def moves_rows(task: bytes) -> bool:
    """Whether the answers to a task hold a sample of rows, rather than sums."""
    return any(mark in task[: 1 << 24] for mark in _MOVE_ROWS)


def read_schema(schema: Any) -> str | None:
    """A schema as the text of its JSON: ``{"variables": [{"name", "kind", "labels"}]}``."""
    if schema is None or isinstance(schema, str):
        return schema
    if isinstance(schema, dict):
        return json.dumps(schema)
    if hasattr(schema, "model_"):
        return json.dumps({"variables": json.loads(schema.to_json())["schema"]["variables"]})
    raise TypeError(f"schema: {type(schema).__name__} given; a dict with 'variables', its JSON text or a fitted LatentTree is needed")


def answered(task: bytes, batches: Iterable[Any]) -> bytes:
    """`observe`, for engines: an error in the rows is an answer, too. As an exception it would be tried again, and come back within a long report of
    the engine."""
    try:
        return observe(task, batches)
    except (TypeError, ValueError) as error:
        return _FAILED + json.dumps([isinstance(error, TypeError), str(error)]).encode()


def checked(answer: bytes) -> bytes:
    """The answer, unless it is an error in the rows."""
    if answer.startswith(_FAILED):
        is_type, message = json.loads(answer[len(_FAILED) :])
        raise (TypeError if is_type else ValueError)(message)
    return answer


def merged(answers: Sequence[bytes], fan_in: int = 16) -> bytes:
    """Join any number of answers, a few at a time. An error among them is what comes out."""
    level = list(answers)
    failed = next((answer for answer in level if answer.startswith(_FAILED)), None)
    if failed is not None:
        return failed
    while len(level) > fan_in:
        level = [merge(level[ix : ix + fan_in]) for ix in range(0, len(level), fan_in)]
    return merge(level)


def _stream(batches: Any) -> Iterable[Any]:
    if isinstance(batches, (str, bytes)) or not isinstance(batches, Iterable):
        raise TypeError(f"batches: {type(batches).__name__} given; Arrow record batches, or a table, are needed")
    return batches


def _is_table(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray)
        or _data.is_instance(value, "pyarrow", "RecordBatch", "Table")
        or _data.is_instance(value, "pandas", "DataFrame")
        or _data.is_instance(value, "polars", "DataFrame")
        or _data.is_instance(value, "scipy.sparse", "spmatrix", "sparray")
    )


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _slices(batches: Iterable[Any]) -> Iterator[bytes]:
    """Record batches as Arrow IPC streams."""
    import pyarrow as pa

    for batch in batches:
        for part in _record_batches(batch):
            for start in range(0, max(part.num_rows, 1), _SLICE_ROWS):
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, part.schema) as writer:
                    writer.write_batch(part.slice(start, _SLICE_ROWS))
                yield sink.getvalue().to_pybytes()


def _record_batches(batch: Any) -> list[Any]:
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return [batch]
    if isinstance(batch, pa.Table):
        return batch.unify_dictionaries().to_batches()
    if isinstance(batch, np.ndarray):
        if batch.ndim != 2:
            raise ValueError(f"an array of {batch.ndim} dimensions was given; rows need two")
        return [pa.RecordBatch.from_arrays([pa.array(column) for column in batch.T], [f"x{ix + 1}" for ix in range(batch.shape[1])])]
    if _data.is_instance(batch, "pandas", "DataFrame"):
        return pa.Table.from_pandas(batch, preserve_index=False).to_batches() or [pa.RecordBatch.from_pandas(batch, preserve_index=False)]
    if hasattr(batch, "__arrow_c_stream__"):
        return pa.table(batch).to_batches()
    raise TypeError(f"{type(batch).__name__} given; observe needs Arrow record batches")


def _observe_sparse(task: bytes, matrix: Any, n_jobs: int) -> bytes:
    reading = _latentree.task_reading(task)
    if reading is None:
        raise TypeError("sparse rows have no names or kinds to look at: give fit_passes a schema")
    variables = json.loads(reading)["schema"]["variables"]
    names = [it["name"] for variable in variables for it in variable.get("members", [variable])]
    data = _data.read(matrix)
    if data.n_columns != len(names):
        raise ValueError(f"the matrix has {data.n_columns} columns, and the schema {len(names)}")
    data.names = names
    kinds = [(it["name"], it["kind"]) for variable in variables for it in variable.get("members", [variable])]
    return _latentree.observe(task, data.table(kinds, like=json.dumps({"variables": variables})), read_n_jobs(n_jobs))


Run = Callable[[bytes], bytes]
