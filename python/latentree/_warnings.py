"""What is said beside results, and the error of an estimator that was not fitted."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

try:
    from sklearn.exceptions import NotFittedError
except ImportError:  # scikit-learn is optional

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """The estimator was asked before it was fitted."""


class LatentTreeWarning(UserWarning):
    """The result stands, but there is something to know about it."""


def warn_all(messages: Iterable[str], stacklevel: int = 4) -> None:
    for message in messages:
        warnings.warn(message, LatentTreeWarning, stacklevel=stacklevel)
