#!/usr/bin/env python3
"""Ruffini 2019, Figure 3.1: errors of the second and third moments of documents, weighted by length (Theorem 3.2.1) and equally (Zou et al. 2013).

Usage: moments.py

d = 100 words, k = 5 topics, lengths 3 to 100; cells of the topics and weights uniform, scaled. The third moment is measured on all triples of the first 20
words, which keeps it small.
"""

import math
import random

D, K, CUT = 100, 5, 20


def problem(rng):
    topics = []
    for _ in range(K):
        cells = [rng.random() for _ in range(D)]
        total = sum(cells)
        topics.append([cell / total for cell in cells])
    weights = [rng.random() for _ in range(K)]
    total = sum(weights)
    return topics, [weight / total for weight in weights]


def errors(seed, n):
    rng = random.Random(seed)
    topics, weights = problem(rng)
    second = [[[0.0] * (D * D), 0.0] for _ in range(2)]
    third = [[[0.0] * CUT**3, 0.0] for _ in range(2)]
    for _ in range(n):
        length = rng.randint(3, 100)
        topic = rng.choices(range(K), weights)[0]
        counts = {}
        for word in rng.choices(range(D), topics[topic], k=length):
            counts[word] = counts.get(word, 0) + 1
        words = list(counts.items())
        pairs, triples = length * (length - 1), length * (length - 1) * (length - 2)
        for kind, (pair_share, triple_share) in enumerate([(1.0, 1.0), (1 / pairs, 1 / triples)]):
            cells, cube = second[kind][0], third[kind][0]
            second[kind][1] += pairs * pair_share
            third[kind][1] += triples * triple_share
            for i, x in words:
                for j, y in words:
                    cells[i * D + j] += pair_share * x * (y - (i == j))
            few = [(word, count) for word, count in words if word < CUT]
            for i, x in few:
                for j, y in few:
                    for m, z in few:
                        cube[(i * CUT + j) * CUT + m] += triple_share * x * (y - (i == j)) * (z - (i == m) - (j == m))
    found = []
    for cells, total in second:
        squares = 0.0
        for i in range(D):
            for j in range(D):
                exact = sum(weights[c] * topics[c][i] * topics[c][j] for c in range(K))
                squares += (cells[i * D + j] / total - exact) ** 2
        found.append(math.sqrt(squares))
    for cells, total in third:
        squares = 0.0
        for at, cell in enumerate(cells):
            i, j, m = at // CUT // CUT, at // CUT % CUT, at % CUT
            exact = sum(weights[c] * topics[c][i] * topics[c][j] * topics[c][m] for c in range(K))
            squares += (cell / total - exact) ** 2
        found.append(math.sqrt(squares))
    return found


def main():
    print("n, runs, error of M2 by length / equally, error of M3 by length / equally")
    for n, runs in [(100, 10), (1000, 10), (10000, 3)]:
        sums = [0.0] * 4
        for seed in range(runs):
            sums = [total + error for total, error in zip(sums, errors(seed, n))]
        print(f"{n}, {runs}, {sums[0] / sums[1]:.3f}, {sums[2] / sums[3]:.3f}", flush=True)


if __name__ == "__main__":
    main()
