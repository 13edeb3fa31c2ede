"""Latent trees on Apache Spark.

`SparkLatentTree` is an estimator of ``pyspark.ml``. It uses DataFrames alone, so it also works with Spark Connect. Every pass over the rows is
one job: each partition gives an accumulator, and these are joined.

>>> from latentree.spark import SparkLatentTree                      # doctest: +SKIP
>>> model = SparkLatentTree(features_cols=["a", "b", "c"]).fit(df)   # doctest: +SKIP
>>> model.tree.summary()                                             # doctest: +SKIP
>>> model.transform(df).show()                                       # doctest: +SKIP
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

try:
    import pyarrow as pa
    import pyspark
    from pyspark.ml import Estimator, Model
    from pyspark.ml.evaluation import Evaluator
    from pyspark.ml.param import Param, Params
    from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable, DefaultParamsWriter
    from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, StructField, StructType
except ImportError as error:
    raise ImportError(f"latentree.spark needs PySpark 4 or newer and PyArrow ({error}): pip install 'latentree[spark]'") from None

from . import _latentree
from ._estimator import LatentTree
from ._options import read_list
from ._reading import _of_model
from .distributed import SAMPLE_BYTES, answered, checked, merged, moves_rows, observe

__all__ = ["LogLikelihoodEvaluator", "SparkLatentTree", "SparkLatentTreeModel"]

#: The oldest version of PySpark that works.
_OLDEST = (4, 0)
if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < _OLDEST:
    raise ImportError(f"latentree.spark needs PySpark 4 or newer, and {pyspark.__version__} is installed: pip install 'latentree[spark]'")

#: Bytes of an answer in one cell.
_CHUNK = 8 << 20
#: Answers that one task joins before they come to the driver.
_FAN_IN = 16
#: Answers to smaller tasks come to the driver directly: a shuffle would take longer.
_DIRECT = 256 << 10
_PIECES = "part long, chunk int, piece binary"
_OPTIONS = {name: it.default for name, it in inspect.signature(LatentTree.__init__).parameters.items() if name != "self"}


def _rows_of(pieces: Iterable[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    for part, piece in pieces:
        for chunk, start in enumerate(range(0, len(piece), _CHUNK)):
            cell = [piece[start : start + _CHUNK]]
            yield pa.RecordBatch.from_arrays(
                [pa.array([part], pa.int64()), pa.array([chunk], pa.int32()), pa.array(cell, pa.binary())], ["part", "chunk", "piece"]
            )


def _pieces_of(rows: Iterable[tuple[int, int, bytes]]) -> list[bytes]:
    """The answers of parts, in the order of parts; a part that came twice counts once."""
    parts: dict[int, dict[int, bytes]] = {}
    for part, chunk, piece in rows:
        parts.setdefault(part, {})[chunk] = bytes(piece)
    return [b"".join(parts[part][chunk] for chunk in sorted(parts[part])) for part in sorted(parts)]


def _observer(task: bytes) -> Any:
    def observe_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return _rows_of([(0 if context is None else context.partitionId(), answered(task, batches))])

    return observe_part


def _merge_group(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
    columns = [table.column(name).to_pylist() for name in ("part", "chunk", "piece")]
    return pa.Table.from_batches(list(_rows_of([(key[0].as_py(), merged(_pieces_of(zip(*columns))))])))


def _runner(df: Any) -> Any:
    """Runs tasks over a DataFrame."""

    def run(task: bytes) -> bytes:
        pieces = _map_in_arrow(df, _observer(task), _PIECES)
        if len(task) > _DIRECT or moves_rows(task):
            group = functions.floor(functions.col("part") / _FAN_IN).alias("group")
            pieces = pieces.groupBy(group).applyInArrow(_merge_group, _PIECES)
        answers = _pieces_of(tuple(row) for row in pieces.collect())
        # Without any partition there are no rows, either.
        return checked(merged(answers or [observe(task, [])]))

    return run


def _column(name: str) -> Any:
    """A column by its name, whatever characters it has."""
    return functions.col("`" + name.replace("`", "``") + "`")


def _map_in_arrow(df: Any, function: Any, schema: Any) -> Any:
    """`DataFrame.mapInArrow`, which by itself takes a dot in a column's name for a field of a struct."""
    names = df.columns

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(pa.RecordBatch.from_arrays(batch.columns, names) for batch in batches)

    return df.toDF(*(f"c{ix}" for ix in range(len(names)))).mapInArrow(named, schema)


class _Params(Params):
    """The params of the estimator and its model."""

    features_cols: Param[list[str]] = Param(Params._dummy(), "features_cols", "columns to learn from; by default all others")
    weight_col: Param[str] = Param(Params._dummy(), "weight_col", "column of row weights")
    validation_indicator_col: Param[str] = Param(Params._dummy(), "validation_indicator_col", "Boolean column: rows that stop EM")
    sample_bytes: Param[int] = Param(Params._dummy(), "sample_bytes", "bytes of rows that a search may bring to the driver")
    log_likelihood_col: Param[str] = Param(Params._dummy(), "log_likelihood_col", "column that transform adds; '' for none")

    def _value(self, name: str) -> Any:
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None


for _name in _OPTIONS:
    setattr(_Params, _name, Param(Params._dummy(), _name, f"{_name} of latentree.LatentTree"))


def _check_columns(df: Any, names: Iterable[str | None]) -> None:
    known = df.columns
    for name in names:
        if name is not None and name not in known:
            shown = ", ".join(repr(it) for it in known[:8]) + (", …" if len(known) > 8 else "")
            raise ValueError(f"the DataFrame has no column {name!r}; it has {shown}")


class SparkLatentTree(Estimator, _Params, DefaultParamsReadable, DefaultParamsWritable):
    """Latent tree model of the rows of a Spark DataFrame.

    Parameters
    ----------
    features_cols : list of str, optional
        Columns to learn from; by default all but the next two. Numbers, Booleans and strings are read, nulls are missing cells, and kinds are
        inferred as by `LatentTree`, from all rows.
    weight_col : str, optional
        Column of row weights.
    validation_indicator_col : str, optional
        Boolean column: rows in which it is true stop EM instead of being learned from.
    sample_bytes : int, default=64 MiB
        A search compares models on rows: up to this many bytes of them come to the driver, drawn by a hash, and EM then fits the best model to all
        rows. A table that fits is learned as `LatentTree` learns it. 0 forbids it; then a ``structure`` must be named.
    log_likelihood_col : str, default="log_likelihood"
        Column of the log-likelihood that `transform` adds; ``""`` for none.
    **options
        The parameters of `LatentTree`.
    """

    def __init__(
        self,
        *,
        features_cols: list[str] | None = None,
        weight_col: str | None = None,
        validation_indicator_col: str | None = None,
        sample_bytes: int = SAMPLE_BYTES,
        log_likelihood_col: str = "log_likelihood",
        **options: Any,
    ) -> None:
        super().__init__()
        self._setDefault(sample_bytes=SAMPLE_BYTES, log_likelihood_col="log_likelihood")
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise TypeError(f"SparkLatentTree has no parameter {unknown[0]!r}; it has those of LatentTree: {', '.join(_OPTIONS)}")
        own = dict(features_cols=features_cols, weight_col=weight_col, validation_indicator_col=validation_indicator_col)
        own |= dict(sample_bytes=sample_bytes, log_likelihood_col=log_likelihood_col)
        self._set(**{name: value for name, value in (own | options).items() if value is not None})

    def _fit(self, dataset: Any) -> SparkLatentTreeModel:
        features, weight, indicator = (self._value(name) for name in ("features_cols", "weight_col", "validation_indicator_col"))
        features = read_list("features_cols", features or [])
        _check_columns(dataset, [*features, weight, indicator])
        features = features or [name for name in dataset.columns if name not in (weight, indicator)]
        wanted = [_column(name) for name in [*features, *([weight] if weight else [])]]
        learned, held = dataset, None
        if indicator is not None:
            is_held = functions.coalesce(_column(indicator).cast("boolean"), functions.lit(False))
            learned, held = dataset.filter(~is_held), _runner(dataset.filter(is_held).select(*wanted))
        options = {name: self._value(name) for name in _OPTIONS if self._value(name) is not None}
        tree = LatentTree(**options).fit_passes(
            _runner(learned.select(*wanted)),
            columns=features,
            weight_col=weight,
            sample_bytes=self._value("sample_bytes"),
            validation=held,
        )
        return self._copyValues(SparkLatentTreeModel(tree))


@functools.lru_cache(maxsize=4)
def _tree_of(model: str, handle_unknown: str) -> LatentTree:
    """The estimator of a model file, kept by the worker process."""
    tree = _of_model(_latentree.Model.from_json(model))
    tree.handle_unknown, tree.n_jobs = handle_unknown, 1
    return tree


class _Summary:
    """What learning found out: ``log_likelihood``, ``bic``, ``n_rows``, ``converged`` and the whole ``report``."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report
        self.log_likelihood = report.get("log_likelihood")
        self.bic = report.get("bic")
        self.n_rows = report.get("rows")
        self.converged = report.get("converged")

    def __repr__(self) -> str:
        return f"log-likelihood {self.log_likelihood}, BIC {self.bic} (larger is better), {self.n_rows} rows"


class SparkLatentTreeModel(Model, _Params, MLReadable, MLWritable):
    """A fitted latent tree. ``tree`` is the ordinary `LatentTree`, with its summary, queries, page and files."""

    def __init__(self, tree: LatentTree | None = None) -> None:
        super().__init__()
        self._setDefault(sample_bytes=SAMPLE_BYTES, log_likelihood_col="log_likelihood")
        self._tree = tree

    @property
    def tree(self) -> LatentTree:
        """The model as a `LatentTree`."""
        if self._tree is None:
            raise ValueError("the model is empty; fit a SparkLatentTree, or load a model")
        return self._tree

    @property
    def summary(self) -> _Summary:
        """How learning went."""
        return _Summary(getattr(self.tree, "report_", {}))

    def _columns(self, df: Any) -> list[str]:
        columns = [name for name, _, _ in self.tree.model_.columns()]
        _check_columns(df, columns)
        return columns

    def _mapper(self) -> Any:
        return functools.partial(_tree_of, self.tree.to_json(), self.tree.handle_unknown)

    def _transform(self, dataset: Any) -> Any:
        columns, get = self._columns(dataset), self._mapper()
        names = [str(name).replace(".", "_") for name in self.tree.get_feature_names_out()]
        log_likelihood = self._value("log_likelihood_col")
        added = names + ([log_likelihood] if log_likelihood else [])
        taken = [name for name in added if name in dataset.columns]
        if taken:
            raise ValueError(f"the DataFrame has a column {taken[0]!r} already, which transform would add; drop or rename it")

        def append(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            tree = get()
            for batch in batches:
                cells = list(batch.columns)
                if batch.num_rows:
                    table = pa.Table.from_batches([batch]).select(columns)
                    cells += [pa.array(column) for column in tree.transform(table).T]
                    cells += [pa.array(tree.score_samples(table))] if log_likelihood else []
                else:
                    cells += [pa.array([], pa.float64()) for _ in added]
                yield pa.RecordBatch.from_arrays(cells, [*batch.schema.names, *added])

        fields = [StructField(name, DoubleType()) for name in added]
        return _map_in_arrow(dataset, append, StructType([*dataset.schema.fields, *fields]))

    def impute(self, df: Any, method: str = "mode") -> Any:
        """The DataFrame with missing cells of the model's columns filled; ``method`` is ``"mode"`` or ``"mean"``."""
        if method not in ("mode", "mean"):
            raise ValueError(f"method: {method!r} given; 'mode' or 'mean' is needed")
        columns, get = self._columns(df), self._mapper()

        def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            tree = get()
            for batch in batches:
                if batch.num_rows:
                    filled = tree.impute(pa.Table.from_batches([batch]).select(columns), method)
                    cells = [
                        filled.column(name).combine_chunks().cast(batch.schema.field(name).type) if name in columns else batch.column(name)
                        for name in batch.schema.names
                    ]
                    batch = pa.RecordBatch.from_arrays(cells, schema=batch.schema)
                yield batch

        return _map_in_arrow(df, fill, df.schema)

    def score(self, df: Any) -> float:
        """Mean log-likelihood of the rows, weighted by ``weight_col``."""
        weight = self._value("weight_col")
        columns, get = self._columns(df), self._mapper()
        _check_columns(df, [weight])

        def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import numpy as np

            total = [0.0, 0.0]
            for batch in batches:
                if batch.num_rows:
                    values = get().score_samples(pa.Table.from_batches([batch]).select(columns))
                    weights = np.ones(len(values)) if weight is None else batch.column(weight).to_numpy(zero_copy_only=False)
                    used = weights > 0
                    total = [total[0] + float(np.dot(values[used], weights[used])), total[1] + float(weights[used].sum())]
            yield pa.RecordBatch.from_pydict({"sum": [total[0]], "weight": [total[1]]})

        wanted = [_column(name) for name in [*columns, *([weight] if weight else [])]]
        sums = _map_in_arrow(df.select(*wanted), add, "sum double, weight double").collect()
        weights = sum(row["weight"] for row in sums)
        if weights == 0:
            raise ValueError("there are no rows to score")
        return sum(row["sum"] for row in sums) / weights

    def copy(self, extra: Any = None) -> SparkLatentTreeModel:
        """A copy with other params."""
        copied = super().copy(extra)
        copied._tree = self._tree
        return copied

    def write(self) -> MLWriter:
        """The writer; ``model.write().overwrite().save(path)``."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """The reader; `SparkLatentTreeModel.load(path)` is short for it."""
        return _Reader()


class _Writer(MLWriter):
    def __init__(self, model: SparkLatentTreeModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:
        tree = self._model.tree
        state = {"handle_unknown": tree.handle_unknown, "report": getattr(tree, "report_", None)}
        DefaultParamsWriter.saveMetadata(self._model, path, self.sparkSession, extraMetadata={"latentree": state})
        frame = self.sparkSession.createDataFrame([(tree.to_json(),)], "model string")
        frame.coalesce(1).write.parquet(f"{path}/model")


class _Reader(MLReader):
    def load(self, path: str) -> SparkLatentTreeModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        text = self.sparkSession.read.parquet(f"{path}/model").collect()[0]["model"]
        tree = _of_model(_latentree.Model.from_json(text))
        tree.handle_unknown = metadata["latentree"]["handle_unknown"]
        report = metadata["latentree"]["report"]
        if report is not None:
            tree.report_ = report
            tree.log_likelihood_ = report["log_likelihood"]
        model = SparkLatentTreeModel(tree)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


class LogLikelihoodEvaluator(Evaluator, DefaultParamsReadable, DefaultParamsWritable):
    """Mean log-likelihood of held-out rows, for ``CrossValidator`` and ``TrainValidationSplit``; larger is better."""

    log_likelihood_col: Param[str] = Param(Params._dummy(), "log_likelihood_col", "column of log-likelihoods")

    def __init__(self, log_likelihood_col: str = "log_likelihood") -> None:
        super().__init__()
        self._setDefault(log_likelihood_col="log_likelihood")
        self._set(log_likelihood_col=log_likelihood_col)

    def _evaluate(self, dataset: Any) -> float:
        column = self.getOrDefault(self.log_likelihood_col)
        _check_columns(dataset, [column])
        return dataset.agg(functions.avg(_column(column))).collect()[0][0]

    def isLargerBetter(self) -> bool:
        """Whether larger is better."""
        return True
