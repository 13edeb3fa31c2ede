"""Topics of documents by moments."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _data
from ._mixture import Mixture
from ._options import read_whole
from ._text import read_text, topics
from ._warnings import warn_all

if TYPE_CHECKING:
    import pandas as pd


def _documents(X: Any) -> list[str] | None:
    """The texts, if X is a list, array or series of them and not a table."""
    if _data.is_instance(X, "pandas", "Series") or _data.is_instance(X, "polars", "Series"):
        texts = X.to_list()
    elif isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "OUT":
        texts = X.tolist()
    elif isinstance(X, list | tuple):
        texts = list(X)
    else:
        return None
    if not any(isinstance(text, (str, bytes)) for text in texts):
        return None
    for ix, text in enumerate(texts):
        if not isinstance(text, str):
            remedy = "decode it" if isinstance(text, bytes) else "leave it out, or give an empty text"
            raise TypeError(f"document {ix} is {text!r}, not a text; {remedy}")
    return texts


class TopicModel(Mixture):
    """Topics of documents, learned from the moments of word counts.

    Documents are texts (a list, an array, or a pandas or polars series), or rows of a table whose columns are words and whose cells are
    counts. Sparse matrices, such as those of scikit-learn's CountVectorizer, stay sparse.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of topics; ``"auto"`` chooses it by BIC.
    model : str, default="single-topic"
        ``single-topic``: every document has one topic. ``lda``: documents mix topics (latent Dirichlet allocation).
    method : str, optional
        How moments become topics: ``sidiwo`` (default), ``asvtd`` (single-topic only), ``svtd``, ``tpm``, ``svd`` or ``als``.
    em : bool, default=False
        Whether EM refines the topics (single-topic only).
    alpha : float or "auto", optional
        Sum of the Dirichlet parameters of ``lda``, 0.2 by default: small if documents have few topics. ``"auto"`` chooses it.
    vectorizer : optional
        What counts the words of texts: any vectorizer of scikit-learn that counts, or an object with its ``fit_transform``,
        ``transform`` and ``get_feature_names_out``. By default `read_text`, with its stop words. Not used for tables.
    kind, handle_unknown, random_state, n_jobs, verbose :
        As in `Mixture`.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_words)
        The distribution of words in every topic.
    coherence_ : array of shape (n_components_,)
        How often the 20 leading words of a topic occur together; larger (less below 0) is better.
    vectorizer_ :
        The fitted vectorizer; None if there is none.
    labels_, weights_, sizes_, relevant_, model_, report_ :
        As in `Mixture`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> topics = np.array([[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]])
    >>> of_document = rng.integers(2, size=500)
    >>> counts = np.array([rng.multinomial(30, topics[topic]) for topic in of_document])
    >>> model = TopicModel(2, em=True).fit(counts)
    >>> np.abs(np.sort(model.components_, axis=0) - np.sort(topics, axis=0)).max() < 0.02
    np.True_
    >>> sorted(model.top_words(2)[0]) in (["x1", "x2"], ["x3", "x4"])
    True
    >>> texts = ["red apple pie", "apple pie red", "fast car road", "road car fast"]
    >>> model = TopicModel(2, em=True).fit(texts)
    >>> model.predict(["a road for cars, a fast road"])[0] == model.labels_[2]
    np.True_
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        model: str = "single-topic",
        method: str | None = None,
        em: bool = False,
        alpha: float | str | None = None,
        vectorizer: Any = None,
        kind: str | Mapping[str, str] | None = None,
        handle_unknown: str = "missing",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.model = model
        self.method = method
        self.em = em
        self.alpha = alpha
        self.vectorizer = vectorizer
        self.kind = kind
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        # Whole numbers; scikit-learn has no tag for counts.
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags

    def _family(self) -> Any:
        if not isinstance(self.model, str):
            raise TypeError(f"model: {self.model!r} given; 'single-topic' or 'lda' is needed")
        if self.model not in ("single-topic", "lda"):
            raise ValueError(f"model: {self.model!r} given; 'single-topic' or 'lda' is needed")
        return self.model

    def _inspect(self, X: Any, learning: bool) -> _data.Data:
        texts = _documents(X)
        if texts is not None:
            return self._checked(self._count_words(texts, learning), learning)
        data = super()._inspect(X, learning)
        if learning:
            self.vectorizer_ = None
        if learning and data.n_columns < 2:
            raise ValueError(f"X has 1 feature(s), and {type(self).__name__} needs 2 words or more")
        cells = data.source.data if data.container == "sparse" else data.source
        if data.container in ("sparse", "numpy") and cells.dtype != object and cells.size > 0 and cells.min() < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: counts of words are 0 or more")
        return self._checked(data, learning)

    def _checked(self, data: _data.Data, learning: bool) -> _data.Data:
        """Warns of new documents without words."""
        cells = data.source
        if not learning and (data.container == "sparse" or (data.container == "numpy" and cells.dtype != object)):
            n_empty = int((np.asarray(abs(cells).sum(axis=1)).ravel() == 0).sum())
            if n_empty > 0:
                some = f"{n_empty} of {data.n_rows} documents" if data.n_rows > 1 else "the document"
                have = "has" if n_empty == 1 else "have"
                problem = f"{some} {have} no word that the model knows: the topics are those of any document (weights_)"
                warn_all([problem], stacklevel=6)
        return data

    def _count_words(self, texts: list[str], learning: bool) -> _data.Data:
        """Texts as a table of counts, by the vectorizer or by our own reader."""
        names: list[str] | None
        if learning:
            for method in ("fit_transform", "transform"):
                if self.vectorizer is not None and not callable(getattr(self.vectorizer, method, None)):
                    raise TypeError(f"vectorizer: {self.vectorizer!r} given; it has no {method}")
            self.vectorizer_ = None if self.vectorizer is None else copy.deepcopy(self.vectorizer)
            known = None
        else:
            self._fitted()
            known = getattr(self, "feature_names_in_", None)
        if self.vectorizer_ is None:
            if not learning and known is None:
                raise ValueError(f"texts given, but {type(self).__name__} was fitted to a table without names of words; give counts")
            counts, names, _ = read_text(texts=texts, vocabulary=known, n_jobs=self.n_jobs)
        else:
            counts = self.vectorizer_.fit_transform(texts) if learning else self.vectorizer_.transform(texts)
            named = getattr(self.vectorizer_, "get_feature_names_out", None)
            names = None if named is None else [str(name) for name in named()]
        data = _data.read(counts, type(self).__name__)
        data.names = data.labels = names
        return data

    @property
    def components_(self) -> np.ndarray:
        """The distribution of words in every topic."""
        means = self.means_
        return means / means.sum(axis=1, keepdims=True)

    @property
    def coherence_(self) -> np.ndarray:
        """Coherence of the 20 leading words of every topic."""
        self._fitted()
        return np.array(self.report_["coherence"])

    def top_words(self, n: int = 10) -> list[list[str]]:
        """The ``n`` most probable words of every topic; ``relevant_`` has those that tell a topic from the others."""
        n = read_whole("n", n, 1)
        names = [name for name, _, _ in self._fitted().columns()]
        return [[names[ix] for ix in topic.argsort(kind="stable")[::-1][:n]] for topic in self.components_]

    def topics(self, X: Any = None, *, n_words: int = 10) -> pd.DataFrame:
        """The topics with their words, shares and, of documents ``X``, coherence; see `latentree.topics`."""
        return topics(self, X, n_words=n_words)
