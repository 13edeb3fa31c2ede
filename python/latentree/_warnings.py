"""Warnings, and the error for estimators that are not fitted."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

try:
    from sklearn.exceptions import NotFittedError
except ImportError:  # scikit-learn is optional

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """The estimator was used before it was fitted."""


class LatentTreeWarning(UserWarning):
    """The result is valid, but there is something that you should know about it."""


def warn_all(messages: Iterable[str], stacklevel: int = 4) -> None:
    for message in messages:
        warnings.warn(message, LatentTreeWarning, stacklevel=stacklevel)
