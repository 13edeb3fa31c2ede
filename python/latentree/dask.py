"""Latent trees on Dask: rows of a ``dask.dataframe`` or a ``dask.array``, wherever their partitions are.

>>> from latentree.dask import DaskLatentTree        # doctest: +SKIP
>>> model = DaskLatentTree(client=client).fit(df)    # doctest: +SKIP
>>> model.tree.summary()                             # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import dask
    import distributed
except ImportError as error:
    raise ImportError(f"latentree.dask needs Dask with distributed ({error}): pip install 'latentree[dask]'") from None

from ._estimator import LatentTree
from ._options import read_list
from .distributed import SAMPLE_BYTES, merge, observe

__all__ = ["DaskLatentTree"]

_OLDEST = (2024, 1)
if tuple(int(part) for part in dask.__version__.split(".")[:2]) < _OLDEST:
    raise ImportError(f"latentree.dask needs Dask 2024.1 or newer, and {dask.__version__} is installed: pip install 'latentree[dask]'")

#: Answers that one task joins.
_FAN_IN = 8


def _is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions") and hasattr(X, "columns")


def _observe(task: bytes, part: Any) -> bytes:
    return observe(task, [part])


def _merge(answers: list[bytes]) -> bytes:
    return merge(answers)


def _sum_scores(tree: LatentTree, part: Any, weights: Any) -> tuple[float, float]:
    if len(part) == 0:
        return 0.0, 0.0
    values = tree.score_samples(part)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    used = weights > 0
    return float(np.dot(values[used], weights[used])), float(weights[used].sum())


def _transform(part: Any, tree: LatentTree, names: list[str]) -> Any:
    import pandas as pd

    values = tree.transform(part) if len(part) else np.empty((0, len(names)))
    return pd.DataFrame(values, columns=names, index=part.index)


def _impute(part: Any, tree: LatentTree, columns: list[str], method: str) -> Any:
    if len(part) == 0:
        return part
    return part.assign(**dict(tree.impute(part[columns], method).items()))


class DaskLatentTree:
    """Latent tree model of the rows of a Dask collection.

    Parameters
    ----------
    client : distributed.Client, optional
        Where passes run; by default the current client or, without one, Dask's own scheduler.
    features_cols : list of str, optional
        Columns of a data frame to learn from; by default all but ``weight_col``.
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
        client: Any = None,
        features_cols: list[str] | None = None,
        weight_col: str | None = None,
        sample_bytes: int = SAMPLE_BYTES,
        **options: Any,
    ) -> None:
        self.client = client
        self.features_cols = features_cols
        self.weight_col = weight_col
        self.sample_bytes = sample_bytes
        self._estimator = LatentTree(**options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those of `LatentTree` among them."""
        own = {name: getattr(self, name) for name in ("client", "features_cols", "weight_col", "sample_bytes")}
        return own | self._estimator.get_params(deep)

    def set_params(self, **params: Any) -> DaskLatentTree:
        """Set parameters."""
        own = ("client", "features_cols", "weight_col", "sample_bytes")
        for name in own:
            if name in params:
                setattr(self, name, params.pop(name))
        self._estimator.set_params(**params)
        return self

    @property
    def tree(self) -> LatentTree:
        """The fitted model."""
        self._estimator._fitted()
        return self._estimator

    def _compute(self, value: Any) -> Any:
        client = self.client
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError:
                return dask.compute(value)[0]
        return client.compute(value).result()

    def _parts(self, X: Any, columns: list[str] | None) -> list[Any]:
        if _is_frame(X):
            known = [str(name) for name in X.columns]
            for name in columns or []:
                if name not in known:
                    shown = ", ".join(repr(it) for it in known[:8]) + (", …" if len(known) > 8 else "")
                    raise ValueError(f"the data frame has no column {name!r}; it has {shown}")
            return list((X[columns] if columns is not None else X).to_delayed())
        if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
            if X.ndim != 2:
                raise ValueError(f"an array of {X.ndim} dimensions was given; rows need two")
            if self.features_cols is not None or self.weight_col is not None:
                raise ValueError("features_cols and weight_col name columns, and an array has no names")
            return list(X.rechunk({1: -1}).to_delayed().ravel())
        raise TypeError(f"DaskLatentTree needs a dask.dataframe or a dask.array, not {type(X).__name__}")

    def fit(self, X: Any, y: Any = None) -> DaskLatentTree:
        """Learn the tree and its parameters. Every pass computes the partitions anew: ``persist()`` them if they fit the workers' memory.
        ``y`` is ignored."""
        columns = None
        if _is_frame(X):
            columns = read_list("features_cols", self.features_cols or [name for name in X.columns if name != self.weight_col])
        parts = self._parts(X, None if columns is None else columns + ([self.weight_col] if self.weight_col else []))

        def run(task: bytes) -> bytes:
            plan = dask.delayed(task)
            level = [dask.delayed(_observe)(plan, part) for part in parts]
            while len(level) > 1:
                level = [dask.delayed(_merge)(level[ix : ix + _FAN_IN]) for ix in range(0, len(level), _FAN_IN)]
            return self._compute(level[0])

        self._estimator.fit_passes(run, columns=columns, weight_col=self.weight_col, sample_bytes=self.sample_bytes)
        return self

    def _model_columns(self) -> list[str]:
        return [name for name, _, _ in self.tree.model_.columns()]

    def transform(self, X: Any) -> Any:
        """Posteriors of the hidden variables: a data frame of a data frame, an array of an array."""
        names = [str(name) for name in self.tree.get_feature_names_out()]
        if _is_frame(X):
            import pandas as pd

            self._parts(X, self._model_columns())
            meta = pd.DataFrame({name: pd.Series(dtype=float) for name in names})
            return X[self._model_columns()].map_partitions(_transform, self._light(), names, meta=meta)
        tree = self._light()
        chunks = (X.chunks[0], (len(names),))
        return X.rechunk({1: -1}).map_blocks(lambda block: tree.transform(block), dtype=float, chunks=chunks)

    def impute(self, X: Any, method: str = "mode") -> Any:
        """The data frame with missing cells filled; ``method`` is ``"mode"`` or ``"mean"``."""
        if not _is_frame(X):
            raise TypeError("impute needs a dask.dataframe")
        self._parts(X, self._model_columns())
        return X.map_partitions(_impute, self._light(), self._model_columns(), method, meta=X._meta)

    def score(self, X: Any) -> float:
        """Mean log-likelihood of the rows, weighted by ``weight_col``."""
        tree = self._light()
        if _is_frame(X):
            columns = self._model_columns()
            parts = self._parts(X, columns)
            weights = list(X[self.weight_col].to_delayed()) if self.weight_col else [None] * len(parts)
        else:
            parts = self._parts(X, None)
            weights = [None] * len(parts)
        sums = self._compute(dask.delayed(list)([dask.delayed(_sum_scores)(tree, *it) for it in zip(parts, weights)]))
        total = sum(weight for _, weight in sums)
        if total == 0:
            raise ValueError("there are no rows to score")
        return sum(value for value, _ in sums) / total

    def _light(self) -> LatentTree:
        """The fitted model for workers."""
        from ._reading import _of_model

        tree = _of_model(self.tree.model_)
        tree.handle_unknown, tree.n_jobs = self.tree.handle_unknown, 1
        return tree
