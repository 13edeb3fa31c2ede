"""Estimators from files and graphs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _data, _graph, _latentree
from ._classifier import LatentTreeClassifier
from ._estimator import LatentTree
from ._options import read_list


def _of_model(model: _latentree.Model) -> LatentTree:
    estimator = LatentTree()
    estimator._take(model, None, "numpy", {})
    columns = [name for name, _, _ in model.columns()]
    if columns:
        estimator.n_features_in_ = len(columns)
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)
    return estimator


def read_model(path: str | os.PathLike[str], hidden: Iterable[str] = ()) -> LatentTree | LatentTreeClassifier:
    """Read a model file, BIF, XMLBIF or the tree of a Newick file as a fitted estimator; of a classifier's file, a `LatentTreeClassifier`.

    ``hidden`` names the hidden nodes of a BIF file.
    """
    text = os.fspath(path)
    names = [str(name) for name in read_list("hidden", hidden)]
    try:
        return _of_model(_latentree.Model.read(text, names))
    except ValueError:
        kind = _latentree.Model.kind_of_file(text)
        if kind == "classifier":
            return _classifier(text)
        if kind in ("topics", "clusters"):
            estimator = "TopicModel" if kind == "topics" else "HierarchicalClustering"
            problem = f"it holds {kind}, which only the command reads (latentree infer); pickle a {estimator} to use it again in Python"
            raise ValueError(f"{text}: {problem}") from None
        raise


def _classifier(path: str) -> LatentTreeClassifier:
    _, labels, priors, models = _latentree.read_classifier(path)
    columns = [name for name, _, _ in models[0].columns()]
    classifier = LatentTreeClassifier()
    classifier.classes_ = np.array(_data.label_values(labels, None))
    if classifier.classes_.dtype.kind == "U":
        classifier.classes_ = classifier.classes_.astype(object)
    classifier.models_, classifier.priors_ = models, np.array(priors)
    classifier.n_features_in_ = len(columns)
    classifier.feature_names_in_ = np.asarray(columns, dtype=object)
    return classifier


def from_networkx(graph: Any) -> LatentTree:
    """Create an estimator from a networkx graph, which must be a tree or a forest.

    Nodes with an attribute ``table`` (as `LatentTree.to_networkx` gives) make a fitted model; without tables, the tree is kept
    and its parameters are to be learned by `LatentTree.fit`. A node is observed if its attribute ``observed`` says so; without
    it, if it is a leaf.
    """
    kind, text = _graph.from_networkx(graph)
    if kind == "model":
        return _of_model(_latentree.Model.from_json(text))
    _latentree.Model.from_tree(text)
    return LatentTree(tree=text)
