#!/usr/bin/env python3
"""Writes the tables of Ruffini's experiments into the present folder: Table 5.1 (t51_SEED), Figure 4.1 (f41_K_SEED) and four clusters in the plane (plane_SEED),
with the true labels in .txt files. The topics of Table 5.1 have the blocks of the author's public script."""

import bisect
import random

BLOCKS = [(13, "11110000"), (13, "10100000"), (13, "11000000"), (11, "00110000"), (13, "00001111"), (13, "00001010"), (13, "00001100"), (11, "00000011")]


def table_5_1(seed):
    """400 documents of 200 words about 8 topics; cells 0.7 or 0.1, plus U(0, 0.1), columns scaled; weights uniform."""
    rng = random.Random(seed)
    topics = [[(0.7 if cell == "1" else 0.1) + rng.uniform(0, 0.1) for cell in block] for n, block in BLOCKS for _ in range(n)]
    d, cumulative = len(topics), []
    for topic in range(8):
        total, sums = sum(row[topic] for row in topics), []
        for row in topics:
            sums.append((sums[-1] if sums else 0) + row[topic] / total)
        cumulative.append(sums)
    weights = [rng.random() for _ in range(8)]
    with open(f"t51_{seed}.csv", "w") as out, open(f"t51_{seed}.txt", "w") as labels:
        out.write(",".join(f"w{word}" for word in range(d)) + "\n")
        for _ in range(400):
            topic, counts = rng.choices(range(8), weights)[0], [0] * d
            for _ in range(200):
                counts[min(d - 1, bisect.bisect(cumulative[topic], rng.random()))] += 1
            out.write(",".join(map(str, counts)) + "\n")
            labels.write(f"{topic}\n")


def figure_4_1(seed, d, k, n=10_000):
    """Binary rows; centres exponential divided by one plus their maximum, weights uniform."""
    rng = random.Random(1000 + seed * 7 + k)
    centres = [[rng.expovariate(1) for _ in range(k)] for _ in range(d)]
    for c in range(k):
        largest = 1 + max(row[c] for row in centres)
        for row in centres:
            row[c] /= largest
    weights = [rng.random() for _ in range(k)]
    with open(f"f41_{k}_{seed}.csv", "w") as out, open(f"f41_{k}_{seed}.txt", "w") as labels:
        out.write(",".join(f"x{column}" for column in range(d)) + "\n")
        for _ in range(n):
            c = rng.choices(range(k), weights)[0]
            out.write(",".join("1" if rng.random() < row[c] else "0" for row in centres) + "\n")
            labels.write(f"{c}\n")


def plane(seed):
    """Four normal clusters in the plane, 1,000 rows."""
    rng = random.Random(seed)
    centres = [(1, 1), (4, 1.5), (1.5, 4), (4.5, 5)]
    with open(f"plane_{seed}.csv", "w") as out, open(f"plane_{seed}.txt", "w") as labels:
        out.write("x,y\n")
        for _ in range(1000):
            c = rng.randrange(4)
            out.write(f"{centres[c][0] + rng.gauss(0, 0.4):.5f},{centres[c][1] + rng.gauss(0, 0.4):.5f}\n")
            labels.write(f"{c}\n")


if __name__ == "__main__":
    for seed in range(20):
        table_5_1(seed)
    for seed in range(10):
        plane(seed)
        figure_4_1(seed, 100, 5)
        figure_4_1(seed, 99, 12)
