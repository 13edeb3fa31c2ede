"""Estimators from files and graphs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _graph, _latentree
from ._estimator import LatentTree


def _of_model(model: _latentree.Model) -> LatentTree:
    estimator = LatentTree()
    estimator._take(model, None, "numpy", {})
    columns = [name for name, _, _ in model.columns()]
    if columns:
        estimator.n_features_in_ = len(columns)
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)
    return estimator


def read_model(path: str | os.PathLike[str], hidden: Iterable[str] = ()) -> LatentTree:
    """Read a model file, BIF, XMLBIF or the tree of a Newick file as a fitted estimator.

    ``hidden`` names the hidden nodes of a BIF file.
    """
    return _of_model(_latentree.Model.read(os.fspath(path), [str(name) for name in hidden]))


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
