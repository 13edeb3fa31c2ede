"""Latent trees on Ray: rows of a ``ray.data.Dataset``.

>>> from latentree.ray import RayLatentTree     # doctest: +SKIP
>>> model = RayLatentTree().fit(dataset)        # doctest: +SKIP
>>> model.tree.summary()                        # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

try:
    import pyarrow as pa
    import ray
    import ray.data
except ImportError as error:
    raise ImportError(f"latentree.ray needs Ray Data ({error}): pip install 'latentree[ray]'") from None

from . import _latentree
from ._estimator import LatentTree
from ._options import read_list
from ._reading import _of_model
from .distributed import SAMPLE_BYTES, answered, checked, merged, observe

__all__ = ["RayLatentTree"]

_OLDEST = (2, 9)
if tuple(int(part) for part in ray.__version__.split(".")[:2]) < _OLDEST:
    raise ImportError(f"latentree.ray needs Ray 2.9 or newer, and {ray.__version__} is installed: pip install 'latentree[ray]'")

#: Answers that one task joins.
_FAN_IN = 16


def _observe(table: Any, task: Any) -> Any:
    answer = answered(ray.get(task), [table] if table.num_rows else [])
    return pa.table({"answer": pa.array([answer], pa.large_binary())})


def _merge(table: Any) -> Any:
    answers = _in_order(table.column("answer").to_pylist())
    return pa.table({"answer": pa.array([merged(answers)], pa.large_binary())})


def _in_order(answers: list[bytes]) -> list[bytes]:
    """Blocks have no numbers: their answers are sorted, so that sums are made in the same order each time."""
    return sorted(answers, key=lambda answer: hashlib.sha256(answer).digest())


def _append(table: Any, model: Any, columns: list[str], names: list[str]) -> Any:
    tree = _tree(ray.get(model))
    values = tree.transform(table.select(columns)) if table.num_rows else np.empty((0, len(names)))
    for name, column in zip(names, values.T):
        table = table.append_column(name, pa.array(column))
    return table


def _impute(table: Any, model: Any, columns: list[str], method: str) -> Any:
    if table.num_rows == 0:
        return table
    filled = _tree(ray.get(model)).impute(table.select(columns), method)
    for name in columns:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, filled.column(name).cast(table.schema.field(at).type))
    return table


def _score(table: Any, model: Any, columns: list[str], weight: str | None) -> Any:
    if table.num_rows == 0:
        return pa.table({"sum": [0.0], "weight": [0.0]})
    values = _tree(ray.get(model)).score_samples(table.select(columns))
    weights = np.ones(len(values)) if weight is None else table.column(weight).to_numpy().astype(float)
    used = weights > 0
    return pa.table({"sum": [float(np.dot(values[used], weights[used]))], "weight": [float(weights[used].sum())]})


def _tree(parts: tuple[str, str]) -> LatentTree:
    tree = _of_model(_latentree.Model.from_json(parts[0]))
    tree.handle_unknown, tree.n_jobs = parts[1], 1
    return tree


class RayLatentTree:
    """Latent tree model of the rows of a Ray dataset.

    Parameters
    ----------
    features_cols : list of str, optional
        Columns to learn from; by default all but ``weight_col``.
    weight_col : str, optional
        Column of row weights.
    sample_bytes : int, default=64 MiB
        Bytes of rows that a search may bring here; see `latentree.spark.SparkLatentTree`.
    **options
        The parameters of `LatentTree`.

    Attributes
    ----------
    tree : LatentTree
        The fitted model, with its summary, queries, page and files.
    """

    def __init__(
        self,
        *,
        features_cols: list[str] | None = None,
        weight_col: str | None = None,
        sample_bytes: int = SAMPLE_BYTES,
        **options: Any,
    ) -> None:
        self.features_cols = features_cols
        self.weight_col = weight_col
        self.sample_bytes = sample_bytes
        self._estimator = LatentTree(**options)

    @property
    def tree(self) -> LatentTree:
        """The fitted model."""
        self._estimator._fitted()
        return self._estimator

    def _check(self, dataset: Any, columns: list[str]) -> None:
        if not isinstance(dataset, ray.data.Dataset):
            raise TypeError(f"RayLatentTree needs a ray.data.Dataset, not {type(dataset).__name__}")
        known = dataset.columns() or []
        for name in columns:
            if name not in known:
                shown = ", ".join(repr(it) for it in known[:8]) + (", …" if len(known) > 8 else "")
                raise ValueError(f"the dataset has no column {name!r}; it has {shown}" if known else "there are no rows")

    def fit(self, dataset: Any, y: Any = None) -> RayLatentTree:
        """Learn the tree and its parameters. Every pass computes the dataset anew: ``materialize()`` it if it fits the object store. ``y`` is
        ignored."""
        given = read_list("features_cols", self.features_cols or [])
        self._check(dataset, [*given, *([self.weight_col] if self.weight_col else [])])
        columns = given or [name for name in dataset.columns() or [] if name != self.weight_col]
        wanted = columns + ([self.weight_col] if self.weight_col else [])
        rows = dataset.select_columns(wanted) if wanted else dataset

        def run(task: bytes) -> bytes:
            plan = ray.put(task)
            # One answer for each block.
            answers = rows.map_batches(_observe, batch_size=None, batch_format="pyarrow", fn_kwargs={"task": plan})
            if len(task) > 1 << 20:
                answers = answers.map_batches(_merge, batch_size=_FAN_IN, batch_format="pyarrow")
            found = [row["answer"] for row in answers.take_all()]
            return checked(merged(_in_order(found) or [observe(task, [])]))

        self._estimator.fit_passes(run, columns=columns or None, weight_col=self.weight_col, sample_bytes=self.sample_bytes)
        return self

    def _model(self, dataset: Any) -> tuple[Any, list[str]]:
        columns = [name for name, _, _ in self.tree.model_.columns()]
        self._check(dataset, columns)
        return ray.put((self.tree.to_json(), self.tree.handle_unknown)), columns

    def transform(self, dataset: Any) -> Any:
        """The dataset with the posteriors of the hidden variables as further columns."""
        model, columns = self._model(dataset)
        names = [str(name) for name in self.tree.get_feature_names_out()]
        return dataset.map_batches(_append, batch_format="pyarrow", fn_kwargs={"model": model, "columns": columns, "names": names})

    def impute(self, dataset: Any, method: str = "mode") -> Any:
        """The dataset with missing cells filled; ``method`` is ``"mode"`` or ``"mean"``."""
        model, columns = self._model(dataset)
        return dataset.map_batches(_impute, batch_format="pyarrow", fn_kwargs={"model": model, "columns": columns, "method": method})

    def score(self, dataset: Any) -> float:
        """Mean log-likelihood of the rows, weighted by ``weight_col``."""
        model, columns = self._model(dataset)
        settings = {"model": model, "columns": columns, "weight": self.weight_col}
        sums = dataset.map_batches(_score, batch_size=None, batch_format="pyarrow", fn_kwargs=settings).take_all()
        total = sum(row["weight"] for row in sums)
        if total == 0:
            raise ValueError("there are no rows to score")
        return sum(row["sum"] for row in sums) / total
