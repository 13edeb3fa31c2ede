"""latentree finds the hidden tree behind a table.

>>> import numpy as np
>>> from latentree import LatentTree
>>> rng = np.random.default_rng(0)
>>> mood = rng.integers(2, size=2000)
>>> answers = np.column_stack([np.where(rng.random(2000) < 0.85, mood, 1 - mood) for _ in range(5)])
>>> tree = LatentTree().fit(answers)
>>> tree.hidden_
['h1']
>>> agrees = (tree.predict(answers, of="h1") == mood).mean()
>>> bool(max(agrees, 1 - agrees) > 0.9)
True
"""

from __future__ import annotations

import copyreg
import importlib
from typing import TYPE_CHECKING, Any

from . import _latentree

if TYPE_CHECKING:
    from ._classifier import LatentTreeClassifier
    from ._clustering import HierarchicalClustering
    from ._estimator import LatentTree
    from ._events import Events, read_events, read_meds
    from ._measures import coherence, relevance, stability
    from ._mixture import Mixture
    from ._moments import Moments
    from ._reading import from_networkx, read_model
    from ._text import TextCounts, read_text, topics
    from ._topics import TopicModel
    from ._warnings import LatentTreeWarning, NotFittedError

__all__ = [
    "Events",
    "HierarchicalClustering",
    "LatentTree",
    "LatentTreeClassifier",
    "LatentTreeWarning",
    "Mixture",
    "Moments",
    "NotFittedError",
    "TextCounts",
    "TopicModel",
    "coherence",
    "from_networkx",
    "read_events",
    "read_meds",
    "read_model",
    "read_text",
    "relevance",
    "stability",
    "topics",
]
__version__: str = _latentree.__version__

_MODULES = {
    "Events": "_events",
    "HierarchicalClustering": "_clustering",
    "LatentTree": "_estimator",
    "LatentTreeClassifier": "_classifier",
    "LatentTreeWarning": "_warnings",
    "Mixture": "_mixture",
    "Moments": "_moments",
    "NotFittedError": "_warnings",
    "TextCounts": "_text",
    "TopicModel": "_topics",
    "coherence": "_measures",
    "from_networkx": "_reading",
    "read_events": "_events",
    "read_meds": "_events",
    "read_model": "_reading",
    "read_text": "_text",
    "relevance": "_measures",
    "stability": "_measures",
    "topics": "_text",
}


def __getattr__(name: str) -> Any:
    # Imported when asked for: the command needs neither numpy nor scikit-learn, which takes seconds to import.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _model_from_json(text: str) -> _latentree.Model:
    return _latentree.Model.from_json(text)


def _groups_from_json(text: str) -> _latentree.GroupModel:
    return _latentree.GroupModel.from_json(text)


# Numbers in a model file read back as the same bits, so that a pickled model is the same model.
copyreg.pickle(_latentree.Model, lambda model: (_model_from_json, (model.render("json"),)))
copyreg.pickle(_latentree.GroupModel, lambda model: (_groups_from_json, (model.render("json"),)))
