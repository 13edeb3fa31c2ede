"""Coherence and seconds of the `lda` package (collapsed Gibbs sampling, 2,000 iterations) on documents that latentree.read_text reads.

python experiments/texts/gibbs.py TEXT SPLIT STOP COVERAGE K [K ...]
"""

import sys
import time

import lda
import numpy as np

import latentree


def coherence(counts, topics, n_words=20):
    """Mean over topics of Σ_{i<j} ln((D(w_i, w_j) + 1) / D(w_i)) of the most probable words (Mimno et al. 2011)."""
    there = (counts > 0).toarray().astype(float)
    values = []
    for topic in topics:
        words = np.argsort(-topic, kind="stable")[:n_words]
        both = there[:, words].T @ there[:, words]
        values.append(sum(np.log((both[i, j] + 1) / both[i, i]) for j in range(n_words) for i in range(j)))
    return np.mean(values)


path, split, stop, coverage, *numbers = sys.argv[1:]
counts, words, _ = latentree.read_text(path, split=split, stop=stop, coverage=None if coverage == "all" else float(coverage))
print(counts.shape)
for k in map(int, numbers):
    begun = time.process_time()
    model = lda.LDA(n_topics=k, n_iter=2000, random_state=0, refresh=2000)
    model.fit(counts.toarray().astype(int))
    print(k, f"coherence {coherence(counts, model.topic_word_):.1f}", f"{time.process_time() - begun:.1f} CPU s", flush=True)
