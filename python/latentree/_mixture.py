"""Mixtures by moments."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _data, _latentree, _meaning
from ._base import BaseEstimator, ClusterMixin, DensityMixin, TransformerMixin
from ._features import match_features
from ._options import ending, plain, read_handle_unknown, read_kinds, read_n_jobs, read_seed, read_text_or_none
from ._progress import Progress
from ._warnings import NotFittedError, warn_all


class RowGroups(TransformerMixin, ClusterMixin, BaseEstimator):
    """What estimators that put every row into a group have in common: reading tables, and the fitted model."""

    kind: Any
    handle_unknown: str
    n_jobs: Any
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _kinds(self, family: Any) -> list[tuple[str, str]]:
        """Kinds of columns: those given, or what a named family needs."""
        if self.kind is None and isinstance(family, str):
            needed = _latentree.family_kind(family)
            return [] if needed is None else [("*", needed)]
        return read_kinds(self.kind)

    def _family(self) -> Any:
        return getattr(self, "family", None)

    def _inspect(self, X: Any, learning: bool) -> _data.Data:
        """A table, to learn from or for the fitted model."""
        return _data.read(X, type(self).__name__)

    def _read_rows(self, X: Any, sample_weight: Any = None) -> tuple[_data.Data, _latentree.Table]:
        """A table to learn from."""
        read_handle_unknown(self.handle_unknown)
        data = self._inspect(X, learning=True)
        weights = _data.read_weights(sample_weight, data.n_rows)
        return data, data.table(self._kinds(self._family()), weights)

    def _note_features(self, data: _data.Data) -> None:
        self.n_features_in_ = data.n_columns
        if data.names is not None:
            self.feature_names_in_ = np.asarray(data.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fitted(self) -> Any:
        if not hasattr(self, "model_"):
            message = "instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
            raise NotFittedError(f"This {type(self).__name__} {message}")
        return self.model_

    def _read(self, X: Any) -> _latentree.Table:
        """A table for the fitted model."""
        model = self._fitted()
        data = self._inspect(X, learning=False)
        names = getattr(self, "feature_names_in_", None)
        known = None if names is None else [str(name) for name in names]
        match_features(data, type(self).__name__, known, self.n_features_in_)
        table = data.table(self._kinds(self._family()), None, model, read_handle_unknown(self.handle_unknown))
        warn_all(table.unseen, stacklevel=4)
        return table

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn from rows and return ``labels_``. ``y`` is ignored."""
        return self.fit(X, sample_weight=sample_weight).labels_  # type: ignore[attr-defined]

    def report(self, path: str | os.PathLike[str], X: Any = None, *, title: str = "latentree") -> None:
        """Write the page of the groups, one self-contained HTML file; with rows also what is frequent in each group."""
        text = os.fspath(path)
        if ending(text) not in (".html", ".htm"):
            raise ValueError(f"report: {text!r} given; a page ends in .html")
        model = self._fitted()
        table = None if X is None else self._read(X)
        if isinstance(model, _latentree.GroupModel):
            model.write_page(text, title, table)
        else:
            _latentree.write_mixture_page(model, text, title, table)

    def to_json(self) -> str:
        """The text of the model file."""
        return self._fitted().render("json")


def read_switch(name: str, value: Any) -> bool:
    """A truth value, or an error that names the argument."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: {value!r} given; True or False is needed")
    return bool(value)


def read_number(name: str, value: Any, needed: str = "a whole number or 'auto'") -> str:
    """A whole number or ``auto`` as text; the library checks its range."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}: {value!r} given; {needed} is needed")
    return str(int(value))


class Mixture(DensityMixin, RowGroups):
    """Mixture of components in which columns are independent, learned from moments, and by EM if asked.

    A few passes over the rows give the same result every time: no random starts.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of components; ``"auto"`` chooses it by BIC.
    family : str, optional
        Distribution of a component's rows: ``poisson``, ``gaussian`` (spherical), ``bernoulli``, ``categorical`` (any columns),
        ``single-topic`` or ``lda`` (documents; see `TopicModel`). By default what the kinds of the columns suggest. A named family also
        sets the kinds of columns, unless ``kind`` does.
    method : str, optional
        How moments become components: ``sidiwo`` (default), ``asvtd``, ``svtd``, ``tpm``, ``svd``, ``als`` or ``multi-view``
        (default if cells are missing; exact for labels).
    em : bool, default=False
        Whether EM refines the components. Recommended for binary and categorical columns, whose moments are not exact.
    alpha : float or "auto", optional
        Sum of the Dirichlet parameters of ``lda``; 0.2 by default.
    kind, handle_unknown :
        As in `LatentTree`.
    random_state : int, RandomState or Generator, optional
        Seed of methods that draw random directions; None is 0. The same seed and data give the same model for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads; None and -1 mean all cores.
    verbose : bool, default=False
        Show a progress bar if fitting takes more than a second.

    Attributes
    ----------
    labels_ : array of int
        Most probable component of every row.
    n_components_ : int
        Number of components.
    weights_ : array of shape (n_components_,)
        Probabilities of the components.
    means_ : array of shape (n_components_, n_columns)
        Mean of every column in every component: the rate of a count, the probability of 1 of a binary column, NaN for other labels.
    sizes_ : array of int
        Number of rows of each component.
    relevant_ : list of list of str
        The most relevant features of each component.
    model_ : Model
        The fitted model, a star; of ``lda`` a GroupModel.
    report_ : dict
        What ``latentree mixture --json`` prints (its ``bic`` is larger for better models; `bic` is not).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=1000)
    >>> rows = rng.poisson(np.where(group[:, None] == [0, 0, 1, 1], 4.0, 1.0))
    >>> mixture = Mixture(2, family="poisson").fit(rows)
    >>> mixture.means_.round().astype(int).tolist() in ([[4, 4, 1, 1], [1, 1, 4, 4]], [[1, 1, 4, 4], [4, 4, 1, 1]])
    True
    >>> agrees = (mixture.predict(rows) == group).mean()
    >>> bool(max(agrees, 1 - agrees) > 0.9)
    True
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        family: str | None = None,
        method: str | None = None,
        em: bool = False,
        alpha: float | str | None = None,
        kind: str | Mapping[str, str] | None = None,
        handle_unknown: str = "missing",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.method = method
        self.em = em
        self.alpha = alpha
        self.kind = kind
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ---- learning

    def _request(self, seed: int) -> dict[str, Any]:
        alpha = plain(self.alpha)
        if alpha is not None and not isinstance(alpha, str):
            if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
                raise TypeError(f"alpha: {alpha!r} given; a number or 'auto' is needed")
            alpha = repr(float(alpha))
        return {
            "components": read_number("n_components", self.n_components),
            "family": read_text_or_none("family", self._family()),
            "method": read_text_or_none("method", self.method),
            "em": read_switch("em", self.em),
            "alpha": alpha,
            "seed": seed,
        }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the components from rows. ``y`` is ignored."""
        self._seed = read_seed(self.random_state)
        request = self._request(self._seed)
        data, table = self._read_rows(X, sample_weight)
        if data.n_rows < 2:
            raise ValueError(f"X has 1 sample, and {type(self).__name__} needs 2 or more to tell components apart")
        with Progress() as progress:
            display = progress if self.verbose else None
            model, labels, report = _latentree.fit_mixture(table, request, read_n_jobs(self.n_jobs), display)
        self.model_: Any = model
        self.labels_ = labels
        self.report_ = json.loads(report)
        self.n_components_ = self.report_["components"]
        self.weights_ = np.array(self.report_["weights"])
        self.sizes_ = np.array(self.report_["sizes"], dtype=np.int64)
        self.relevant_ = self.report_["relevant"]
        self.family_ = self.report_["family"]
        self.method_ = self.report_["method"]
        self.log_likelihood_ = self.report_["log_likelihood"]
        self._note_features(data)
        warn_all([*table.warnings, *self.report_["warnings"]], stacklevel=3)
        return self

    def _stability(self, X: Any, n_runs: int) -> float:
        _, table = self._read_rows(X)
        seed = read_seed(self.random_state)
        return _latentree.mixture_stability(table, self._request(seed), n_runs, read_n_jobs(self.n_jobs))

    # ---- asking

    def _is_lda(self) -> bool:
        return isinstance(self._fitted(), _latentree.GroupModel)

    @property
    def means_(self) -> np.ndarray:
        """Mean of every column in every component."""
        model = self._fitted()
        return model.topics() if self._is_lda() else _latentree.star_means(model)

    @property
    def tables_(self) -> dict[str, Any]:
        """By column, a data frame of its distribution in every component; not for ``lda``."""
        if self._is_lda():
            raise AttributeError("lda has no tables; means_ holds the distributions of words")
        return _meaning.tables(self._fitted())

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every component given the row; of ``lda``, the shares of topics in the document.

        Missing cells are summed out. Rows of probability zero get the weights of the components.
        """
        model = self._fitted()
        table = self._read(X)
        if self._is_lda():
            return model.shares(table, self._seed, read_n_jobs(self.n_jobs))
        found = model.posterior(table, [model.roots()[0]], read_n_jobs(self.n_jobs))
        return np.where(np.isnan(found), self.weights_, found)

    def transform(self, X: Any) -> np.ndarray:
        """The same as `predict_proba`."""
        return self.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable component of every row."""
        return self.predict_proba(X).argmax(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of every row; of ``lda``, a lower bound of that of the document's words."""
        model = self._fitted()
        table = self._read(X)
        if self._is_lda():
            return model.bound(table, read_n_jobs(self.n_jobs))
        return model.score_samples(table, read_n_jobs(self.n_jobs))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows. ``y`` is ignored."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion, ``-2 ln L + parameters · ln rows``: lower is better, as in scikit-learn."""
        values = self.score_samples(X)
        return float(-2.0 * values.sum() + self._fitted().n_free_parameters * np.log(len(values)))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion, ``-2 ln L + 2 · parameters``: lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self._fitted().n_free_parameters)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: ``mixture0``, ``mixture1``, …"""
        self._fitted()
        return np.asarray([f"{type(self).__name__.lower()}{ix}" for ix in range(self.n_components_)], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (``.json``, also compressed: ``.json.gz``), for the command line and `read_model`."""
        text = os.fspath(path)
        if ending(text) not in ("", ".json"):
            raise ValueError(f"save: {text!r} given; a model file ends in .json")
        self._fitted().write(text, "json")
