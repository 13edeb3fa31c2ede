#!/usr/bin/env python3
"""Ruffini 2019, Figure 3.1: errors of the second and third moments of documents, weighted by length (Theorem 3.2.1) and equally (Zou et al. 2013).

d = 100 words, k = 5 topics, lengths 3 to 100; cells of the topics and weights uniform, scaled; means of 10 runs. The third moment is measured on the
first 20 words. `experiments mixtures moments` does the same in Rust, with other random numbers. Needs NumPy.
"""

import numpy as np

WORDS, TOPICS, CUT = 100, 5, 20


def errors(seed, n):
    """Errors of M2 and M3, by length and equally."""
    rng = np.random.default_rng(seed)
    topics = rng.random((TOPICS, WORDS))
    topics /= topics.sum(axis=1, keepdims=True)
    weights = rng.random(TOPICS)
    weights /= weights.sum()
    lengths = rng.integers(3, 101, n)
    counts = rng.multinomial(lengths, topics[rng.choice(TOPICS, n, p=weights)]).astype(float)
    pairs = lengths * (lengths - 1.0)
    triples = pairs * (lengths - 2.0)
    first, few = topics[:, :CUT], counts[:, :CUT]
    exact_second = (topics.T * weights) @ topics
    exact_third = np.einsum("k,ka,kb,kc->abc", weights, first, first, first)
    found = []
    for of_pair, of_triple in ((np.full(n, 1 / pairs.sum()), np.full(n, 1 / triples.sum())), (1 / pairs / n, 1 / triples / n)):
        second = (counts.T * of_pair) @ counts - np.diag(of_pair @ counts)
        third = np.stack([(few.T * (of_triple * few[:, word])) @ few for word in range(CUT)])
        squares, sums = (few.T * of_triple) @ few, of_triple @ few
        for word in range(CUT):
            third[word, word, :] -= squares[word]
            third[word, :, word] -= squares[word]
            third[:, word, word] -= squares[word]
            third[word, word, word] += 2 * sums[word]
        found.append((np.linalg.norm(second - exact_second), np.linalg.norm(third - exact_third)))
    return found


print("| n | M2 by length | M2 equally | ratio | M3 by length | M3 equally | ratio |\n| --- | --- | --- | --- | --- | --- | --- |")
for n in (100, 300, 1000, 3000, 10_000):
    own, equal = np.mean([errors(seed, n) for seed in range(10)], axis=0)
    cells = [f"{n}"] + [cell for x, y in zip(own, equal) for cell in (f"{x:.2e}", f"{y:.2e}", f"{x / y:.3f}")]
    print(f"| {' | '.join(cells)} |")
