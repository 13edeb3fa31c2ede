"""Text as word counts, and the topics of a model of words."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _latentree
from ._base import BaseEstimator
from ._options import read_list, read_n_jobs, read_share, read_text_or_none, read_whole
from ._warnings import LatentTreeWarning

if TYPE_CHECKING:
    import pandas as pd


class TextCounts(NamedTuple):
    """What `read_text` returns: a SciPy CSR matrix, the words of its columns and the names of its rows."""

    counts: Any
    words: list[str]
    names: list[str]


def read_text(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    texts: Sequence[str] | None = None,
    column: str | None = None,
    split: str | None = None,
    stop: str | None = None,
    min_df: int | float | None = None,
    max_df: int | float | None = None,
    coverage: float | None = None,
    encoding: str | None = None,
    id: str | None = None,
    vocabulary: Sequence[str] | None = None,
    n_jobs: int | None = None,
) -> TextCounts:
    """Count the words of documents.

    Parameters
    ----------
    source
        Text files and folders of them, or one table whose ``column`` holds the texts.
    texts
        Documents in memory, instead of ``source``.
    column, split, stop, min_df, max_df, coverage, encoding, id
        As the options of the command: a column of texts; a regular expression for the lines that begin documents; words to leave out
        (``"en,it"``, a file, ``"auto"``, ``"none"``); documents that a word must, or may, be in, as a number (int) or a share (float);
        the share of all occurrences that the most frequent words make.
    vocabulary
        Words to count, instead of choosing them: those of a model, for new documents.
    n_jobs
        Number of threads; all cores by default.

    Examples
    --------
    >>> import latentree
    >>> counts, words, names = latentree.read_text(texts=["The red car", "A red, red rose"], min_df=1)
    >>> words
    ['car', 'red', 'rose']
    >>> counts.toarray().astype(int).tolist()
    [[1, 1, 0], [0, 2, 1]]
    """
    from scipy.sparse import csr_matrix

    own = {"column": column, "split": split, "stop": stop, "encoding": encoding, "id": id}
    for name, value in own.items():
        read_text_or_none(name, value, "a text")
    if (source is None) == (texts is None):
        raise TypeError("give files (source) or texts, and not both")
    of_files = [name for name in ("column", "encoding", "id") if own[name] is not None]
    if texts is not None and of_files:
        raise ValueError(f"{of_files[0]}: it says how files are read, and texts are given; leave it out")
    paths = None
    if source is not None:
        paths = [os.fspath(source)] if isinstance(source, str | os.PathLike) else [os.fspath(path) for path in source]
        if not paths:
            raise ValueError("source: there are no files; give at least one")
    limit = {name: None if value is None else repr(value) for name, value in (("min_df", min_df), ("max_df", max_df))}
    ends, columns, values, words, names, notes = _latentree.read_text(
        paths,
        None if texts is None else [str(text) for text in read_list("texts", texts, "a list of documents")],
        read_n_jobs(n_jobs),
        column,
        split,
        stop,
        limit["min_df"],
        limit["max_df"],
        read_share("coverage", coverage),
        encoding,
        id,
        None if vocabulary is None else [str(word) for word in read_list("vocabulary", vocabulary, "a list of words")],
    )
    for note in notes:
        # Which words are left out is as asked; what was not read is not.
        if "not text" in note or "before the first match" in note:
            warnings.warn(note, LatentTreeWarning, stacklevel=2)
    matrix = csr_matrix((values, columns, ends), shape=(len(ends) - 1, len(words)))
    return TextCounts(matrix, words, names)


def topics(model: Any, counts: Any = None, *, n_topics: int | None = None, n_words: int = 10) -> pd.DataFrame:
    """The topics of a fitted model of words, as a data frame.

    A row is a hidden variable of a `LatentTree`, a topic of a `TopicModel`, or a cluster of a `HierarchicalClustering`: its words by
    mutual information (of a tree) or relevance, the share of documents that it is in, the coherence of its words (``npmi`` and ``c_v``,
    if ``counts`` are given), and its parent.

    Parameters
    ----------
    model
        A fitted `LatentTree`, `TopicModel`, `Mixture` or `HierarchicalClustering` whose columns are words.
    counts
        The documents, as the model was fitted on.
    n_topics
        So many hidden variables of a tree that together say most of all words. By default all groups of words, broad and fine.
    n_words
        Number of words of each topic.
    """
    import pandas as pd

    if not isinstance(model, BaseEstimator) or not hasattr(model, "_fitted"):
        raise TypeError(f"model: {type(model).__name__} given; a fitted LatentTree, TopicModel, Mixture or HierarchicalClustering is needed")
    fitted = model._fitted()
    n_topics = None if n_topics is None else read_whole("n_topics", n_topics, 1)
    n_words = read_whole("n_words", n_words, 1)
    table = None if counts is None else model._read(counts)
    if isinstance(table, tuple):
        table = table[1]
    found = json.loads(_latentree.topics(fitted, table, n_topics, n_words, read_n_jobs(model.n_jobs)))
    return pd.DataFrame(found, columns=["name", "words", "share", "npmi", "c_v", "parent"])
