"""The classifier: a model of the columns for each class, and Bayes' rule."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _data, _latentree
from ._base import BaseEstimator, ClassifierMixin
from ._estimator import LatentTree
from ._features import match_features
from ._options import ending, plain, read_handle_unknown, read_kinds, read_min_count, read_n_jobs
from ._warnings import NotFittedError, warn_all

#: The column of the classes in files.
_TARGET = "class"


class LatentTreeClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that learns a latent tree model of each class and finds the class of new rows by Bayes' rule.

    The models are learned apart, with the same options; their trees may differ. Missing cells are summed out.

    Parameters
    ----------
    structure : str, default="auto"
        Learner of the trees, as of `LatentTree`; ``chain`` for the positions of a sequence, in the order of the columns.
    n_states : int or "auto", default="auto"
        Number of states of the hidden variables, or of dimensions of a spectral model; as many as the data support with ``"auto"``.
    parameters : str, default="auto"
        Method for the parameters, as of `LatentTree`. ``spectral`` learns in two passes, without starts and local optima.
    linkers : str, default="stacked"
        With ``parameters="spectral"``, what stands for a branch of the tree: all of its variables (``stacked``) or one (``single``).
    priors : "train", "uniform" or array of float, default="train"
        Probabilities of the classes: their shares in the training rows, equal ones, or one for each of ``classes_``.
    options : dict, optional
        Further options of `LatentTree`, such as ``{"effort": "quick"}``.
    kind : str or dict, optional
        Kinds of columns, as of `LatentTree`.
    handle_unknown : str, default="missing"
        How to treat labels of columns that were not present during ``fit``: ``"missing"`` or ``"error"``.
    min_count : int, optional
        Merge labels of a categorical column that occur less often into ``(other)``.
    random_state : int, RandomState or Generator, optional
        Random seed; 0 by default.
    n_jobs : int, optional
        Number of threads; None and -1 mean all cores.

    Attributes
    ----------
    classes_ : array
        The classes.
    models_ : list of Model
        The model of each class.
    priors_ : array of float
        The probability of each class.
    reports_ : list of dict
        What ``latentree learn --json`` prints, for each class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if they have names.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(2, size=1000)
    >>> first = rng.integers(2, size=(1000, 1))
    >>> other = np.where(kind[:, None] == 1, first, 1 - first)
    >>> cells = np.hstack([first, other, first, other])
    >>> noisy = np.where(rng.random(cells.shape) < 0.9, cells, 1 - cells)
    >>> classifier = LatentTreeClassifier(structure="chain", parameters="spectral").fit(noisy, kind)
    >>> bool(classifier.score(noisy, kind) > 0.8)
    True
    """

    def __init__(
        self,
        structure: str = "auto",
        n_states: int | str = "auto",
        parameters: str = "auto",
        *,
        linkers: str = "stacked",
        priors: Any = "train",
        options: dict[str, Any] | None = None,
        kind: Any = None,
        handle_unknown: str = "missing",
        min_count: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.structure = structure
        self.n_states = n_states
        self.parameters = parameters
        self.linkers = linkers
        self.priors = priors
        self.options = options
        self.kind = kind
        self.handle_unknown = handle_unknown
        self.min_count = min_count
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LatentTreeClassifier:
        """Learn a model of the rows of each class. Rows whose class is missing (None or NaN) are an error."""
        read_handle_unknown(self.handle_unknown)
        data = _data.read(X, type(self).__name__)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        classes, codes = _classes(y, data.n_rows)
        weights = _data.read_weights(sample_weight, data.n_rows)
        table = data.table(read_kinds(self.kind), weights, min_count=read_min_count(self.min_count))
        shares = np.bincount(codes, weights=weights, minlength=len(classes)).astype(np.float64)
        if not (shares > 0).all():
            raise ValueError(f"sample_weight: class {plain(classes[int(np.argmin(shares))])!r} has no weight")
        priors = self._priors(shares / shares.sum())
        options = self._learn_options()
        models, reports = [], []
        for code, name in enumerate(classes):
            rows = table.rows(np.ascontiguousarray(codes == code))
            try:
                model, report = _latentree.learn(rows, options, None, read_n_jobs(self.n_jobs), None)
            except ValueError as error:
                raise type(error)(f"class {plain(name)!r}: {error}") from error
            models.append(model)
            reports.append(json.loads(report))
        self.classes_ = classes
        self.models_ = models
        self.priors_ = priors
        self.reports_ = reports
        self.n_features_in_ = data.n_columns
        if data.names is not None:
            self.feature_names_in_ = np.asarray(data.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        said = [f"class {plain(name)!r}: {it}" for name, report in zip(classes, reports) for it in report["warnings"]]
        warn_all([*table.warnings, *said], stacklevel=3)
        return self

    def _learn_options(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("structure", "n_states", "parameters", "linkers", "random_state")}
        if self.options is not None and not isinstance(self.options, Mapping):
            raise TypeError(f"options: {self.options!r} given; a dict of options of LatentTree is needed, such as {{'effort': 'quick'}}")
        given = dict(self.options or {})
        known = LatentTree().get_params()
        taken = {*own, "kind", "handle_unknown", "min_count", "n_jobs", "tree", "verbose"}
        for name in given:
            if name in taken or name not in known:
                raise ValueError(f"options: {name!r} is not a further option of LatentTree")
        return LatentTree(**own, **given)._learn_options()

    def _priors(self, shares: np.ndarray) -> np.ndarray:
        if isinstance(self.priors, str):
            if self.priors == "train":
                return shares
            if self.priors == "uniform":
                return np.full(len(shares), 1.0 / len(shares))
            raise ValueError(f"priors: {self.priors!r} given; train, uniform or a probability for each class is needed")
        try:
            priors = np.asarray(self.priors, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"priors: {self.priors!r} given; train, uniform or a list of probabilities is needed") from None
        if priors.shape != shares.shape or not (priors >= 0).all() or abs(priors.sum() - 1.0) > 1e-6:
            raise ValueError(f"priors: {self.priors!r} given; {len(shares)} probabilities that sum to 1 are needed")
        return priors

    def _fitted(self) -> list[_latentree.Model]:
        if not hasattr(self, "models_"):
            message = "instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
            raise NotFittedError(f"This {type(self).__name__} {message}")
        return self.models_

    def _log_joint(self, X: Any) -> np.ndarray:
        models = self._fitted()
        data = _data.read(X, type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        match_features(data, type(self).__name__, names, getattr(self, "n_features_in_", None))
        table = data.table(read_kinds(self.kind), None, models[0], read_handle_unknown(self.handle_unknown))
        warn_all(table.unseen, stacklevel=4)
        n_jobs = read_n_jobs(self.n_jobs)
        with np.errstate(divide="ignore"):
            return np.column_stack([model.score_samples(table, n_jobs) for model in models]) + np.log(self.priors_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes, one column each."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, one column each. A row that no class can have gets the priors."""
        values = self._log_joint(X)
        largest = values.max(axis=1, keepdims=True)
        possible = np.isfinite(largest)
        weights = np.where(possible, np.exp(values - np.where(possible, largest, 0.0)), self.priors_)
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that ``latentree classify`` reads. Classes are labels there; the column of the classes is ``class``."""
        models = self._fitted()
        text = os.fspath(path)
        if ending(text) not in ("", ".json"):
            raise ValueError(f"save: {text!r} given; a model file ends in .json")
        labels = [_data.label_text(plain(name)) for name in self.classes_]
        _latentree.write_classifier(text, _TARGET, labels, self.priors_.tolist(), models)


def _classes(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the class of every row."""
    try:
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d
    except ImportError:
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise ValueError(f"y: an array of {labels.ndim} dimensions given; one class for every row is needed") from None
        check_classification_targets = None
    else:
        labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise ValueError(f"y: {len(labels)} classes for {n_rows} rows")
    missing = [_data.is_missing(it) for it in labels.tolist()] if labels.dtype.kind == "O" else labels != labels
    if np.any(missing):
        raise ValueError(f"y: {int(np.sum(missing))} rows have no class; leave them out of X and y")
    try:
        if check_classification_targets is not None:
            check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(it).__name__ for it in labels.tolist()})
        raise TypeError(f"y: classes of different types given ({', '.join(kinds)}); convert them to one") from None
    if len(classes) < 2:
        raise ValueError(f"y: the number of classes has to be greater than one; got {len(classes)} class")
    return classes, codes.reshape(-1)
