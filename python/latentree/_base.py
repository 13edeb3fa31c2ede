"""The bases of the estimator: scikit-learn's where it is installed, else the little of them that is needed."""

from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, DensityMixin, TransformerMixin
    from sklearn.utils.metaestimators import available_if

    HAS_SKLEARN = True
except ImportError:  # scikit-learn is optional
    HAS_SKLEARN = False

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by the names of the constructor's arguments."""

        @classmethod
        def _parameter_names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._parameter_names()}

        def set_params(self, **params: Any) -> Any:
            for name, value in params.items():
                if name not in self._parameter_names():
                    raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = {name: it.default for name, it in inspect.signature(type(self).__init__).parameters.items()}
            changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClusterMixin:  # type: ignore[no-redef]
        pass

    class ClassifierMixin:  # type: ignore[no-redef]
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            right = self.predict(X) == y  # type: ignore[attr-defined]
            return float(right.mean() if sample_weight is None else (right * sample_weight).sum() / sum(sample_weight))

    class DensityMixin:  # type: ignore[no-redef]
        pass

    class TransformerMixin:  # type: ignore[no-redef]
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

    def available_if(check: Any) -> Any:  # type: ignore[no-redef]
        return lambda method: method


__all__ = ["HAS_SKLEARN", "BaseEstimator", "ClassifierMixin", "ClusterMixin", "DensityMixin", "TransformerMixin", "available_if"]
