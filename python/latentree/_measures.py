"""Measures of topics and clusters."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from . import _data, _latentree
from ._mixture import RowGroups
from ._options import plain, read_n_jobs, read_whole


def coherence(X: Any, topics: Any, *, n_jobs: int | None = None) -> np.ndarray:
    """Coherence of topics in documents (Mimno et al. 2011): how often their 20 leading words occur together.

    Parameters
    ----------
    X : table
        Documents × words; a word occurs if its cell is above 0.
    topics : array of shape (n_topics, n_words)
        Weight of every word in every topic, such as ``TopicModel.components_`` or those of scikit-learn's topic models.

    Returns
    -------
    array of shape (n_topics,)
        Larger (less below 0) is better. Compare only topics of the same documents.

    Examples
    --------
    >>> import numpy as np
    >>> documents = np.array([[1, 1, 0, 0], [2, 1, 0, 0], [0, 0, 1, 3], [0, 0, 1, 1]])
    >>> together, apart = coherence(documents, [[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0]])
    >>> bool(together > apart)
    True
    """
    data = _data.read(X, "coherence")
    weights = _matrix("topics", topics)
    if weights.shape[1] != data.n_columns:
        raise ValueError(f"topics: {weights.shape[1]} words given, but X has {data.n_columns} columns")
    table = data.table([("*", "count")])
    return _latentree.coherence(table, weights, read_n_jobs(n_jobs))


def relevance(probabilities: Any, overall: Any, weight: float = 0.7) -> np.ndarray:
    """Relevance of features to components (Sievert and Shirley 2014): ``weight · ln p + (1 − weight) · ln(p / p_overall)``.

    Parameters
    ----------
    probabilities : array of shape (n_components, n_features)
        Probability of every feature in every component, such as ``TopicModel.components_``.
    overall : array of shape (n_features,)
        Probability of every feature in all rows.
    weight : float, default=0.7
        Weight of a feature's own probability against its lift, from 0 to 1.

    Returns
    -------
    array of shape (n_components, n_features)
        Minus infinity for features that never occur.

    Examples
    --------
    >>> relevance([[0.4, 0.6], [0.9, 0.1]], [0.5, 0.5]).argmax(axis=1).tolist()
    [1, 0]
    """
    own = _matrix("probabilities", probabilities)
    everywhere = _numbers("overall", overall)
    if everywhere.shape != (own.shape[1],):
        raise ValueError(f"overall: {everywhere.shape} given, but there are {own.shape[1]} features")
    weight = plain(weight)
    if isinstance(weight, bool) or not isinstance(weight, numbers.Real):
        raise TypeError(f"weight: {weight!r} given; a number is needed")
    if not 0 <= weight <= 1:
        raise ValueError(f"weight: {weight} given; a number from 0 to 1 is needed")
    return _latentree.relevance(own, np.ascontiguousarray(everywhere), float(weight))


def stability(estimator: Any, X: Any, n_runs: int = 10) -> float:
    """Stability of a clustering (Ruffini 2019, §6.4.1): whether it stays the same when some rows are exchanged.

    Fits the estimator twice, each time to the same 80% of the rows with another 10%, and takes the adjusted Rand index of the two
    clusterings on the rows that they share. Returns the mean of ``n_runs``.

    ``estimator`` is a `Mixture`, `TopicModel` or `HierarchicalClustering`; it is not changed.
    """
    if not isinstance(estimator, RowGroups):
        raise TypeError(f"estimator: {estimator!r} given; a Mixture, TopicModel or HierarchicalClustering is needed")
    n_runs = read_whole("n_runs", n_runs)
    if not 1 <= n_runs <= 1000:
        raise ValueError(f"n_runs: {n_runs} given; a number from 1 to 1000 is needed")
    return estimator._stability(X, n_runs)


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.ascontiguousarray(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(f"{name}: an array of numbers is needed") from None
    if np.isnan(array).any() or (array < 0).any():
        raise ValueError(f"{name}: numbers from 0 are needed")
    return array


def _matrix(name: str, values: Any) -> np.ndarray:
    array = _numbers(name, values)
    if array.ndim != 2:
        raise ValueError(f"{name}: an array of two dimensions is needed, not {array.ndim}")
    return array
