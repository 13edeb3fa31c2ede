"""Topics of documents by moments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _data, _latentree
from ._mixture import Mixture


class TopicModel(Mixture):
    """Topics of documents, learned from the moments of word counts.

    Rows are documents and columns are words; cells are counts. Sparse matrices, such as those of scikit-learn's CountVectorizer, stay
    sparse.

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
    kind, handle_unknown, random_state, n_jobs, verbose :
        As in `Mixture`.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_words)
        The distribution of words in every topic.
    coherence_ : array of shape (n_components_,)
        How often the 20 leading words of a topic occur together; larger (less below 0) is better.
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
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        model: str = "single-topic",
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
        self.model = model
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

    def _read_rows(self, X: Any, sample_weight: Any = None) -> tuple[_data.Data, _latentree.Table]:
        data = _data.read(X, type(self).__name__)
        if data.n_columns < 2:
            raise ValueError(f"X has 1 feature(s), and {type(self).__name__} needs 2 words or more")
        cells = data.source.data if data.container == "sparse" else data.source
        if data.container in ("sparse", "numpy") and cells.dtype != object and cells.size > 0 and cells.min() < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: counts of words are 0 or more")
        return super()._read_rows(X, sample_weight)

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
        names = [name for name, _, _ in self._fitted().columns()]
        return [[names[ix] for ix in topic.argsort(kind="stable")[::-1][:n]] for topic in self.components_]
