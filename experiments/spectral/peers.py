#!/usr/bin/env python3
"""Spectral inference beside other programs: products of a chain's operators in numpy, and hidden Markov models of hmmlearn.

Usage: peers.py speed FOLDER | splice DATA_FOLDER FOLDS_FILE

FOLDER is what `experiments spectral-speed --write FOLDER` wrote, FOLDS_FILE what `experiments splice --write-folds` wrote. Needs numpy and hmmlearn.
Seconds are of the processor, medians of five. Set OMP_NUM_THREADS=1 for one thread.
"""

import gzip
import json
import logging
import statistics
import sys
import time
from pathlib import Path

import numpy as np


def timed(call, rounds=5):
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        found = call()
        seconds.append(time.process_time() - start)
    return found, statistics.median(seconds)


def operators(path):
    """The messages of every position's labels, and what turns two messages at a hidden node of a chain into the third."""
    model = json.loads(path.read_text())
    edges, joints = model["spectral"]["edges"], model["spectral"]["joints"]
    ends = [edge["between"].replace('"', "").split(" – ") for edge in edges]
    ports = {joint["node"]: [ix for ix, pair in enumerate(ends) if joint["node"] in pair] for joint in joints}
    ranks = [edge["rank"] for edge in edges]
    links = [np.array(edge["link"]).reshape(k, k) for edge, k in zip(edges, ranks)]
    leaves = {}
    for ix, (pair, k) in enumerate(zip(ends, ranks)):
        for side, name in enumerate(pair):
            if name not in ports:
                labels = np.array(edges[ix]["labels"]).reshape(-1, k)
                leaves[name] = (ix, labels @ (links[ix] if side == 0 else links[ix].T))
    tensors = {}
    for joint in joints:
        of = ports[joint["node"]]
        tensors[joint["node"]] = (of, np.array(joint["tensor"]).reshape([ranks[ix] for ix in of]))
    return ends, links, leaves, tensors


def score(codes, ends, links, leaves, tensors):
    """Log-probabilities of rows: the general products, all rows at once."""
    n = len(tensors)
    names = [f"x{ix + 1}" for ix in range(codes.shape[1])]
    state, came, exponent = leaves["x1"][1][codes[:, 0]], leaves["x1"][0], np.zeros(len(codes))
    for at in range(1, n + 1):
        of, tensor = tensors[f"h{at}"]
        edge, labels = leaves[names[at]]
        (out,) = [ix for ix in of if ix not in (came, edge)]
        cube = tensor.transpose([of.index(came), of.index(edge), of.index(out)])
        pairs = (state[:, :, None] * labels[codes[:, at]][:, None, :]).reshape(len(codes), -1)
        if at == n:
            last = leaves[names[at + 1]][1][codes[:, at + 1]]
            total = np.einsum("nk,nk->n", pairs @ cube.reshape(-1, cube.shape[2]), last)
            return np.log(np.maximum(total, 1e-300)) + exponent
        side = ends[out].index(f"h{at}")
        solved = links[out] if side == 0 else links[out].T
        state = pairs @ (cube.reshape(-1, cube.shape[2]) @ solved)
        scale = np.abs(state).max(axis=1)
        state /= scale[:, None]
        exponent += np.log(scale)
        came = out
    return None


def speed(folder):
    folder = Path(folder)
    for path in sorted(folder.glob("chain20-*.json")):
        codes = np.loadtxt(path.with_suffix(".csv"), delimiter=",", dtype=np.int64)
        parts = operators(path)
        values, seconds = timed(lambda: score(codes, *parts))
        print(f"numpy, {path.stem}, {len(codes)} rows: {seconds:.4f} s, mean log-likelihood {values.mean():.6f}")
    from hmmlearn.hmm import CategoricalHMM

    logging.disable(logging.CRITICAL)
    codes = np.loadtxt(folder / "chain.csv", delimiter=",", dtype=np.int64)
    lengths = [codes.shape[1]] * len(codes)

    def fit():
        return CategoricalHMM(2, n_iter=20, tol=0.0, random_state=0).fit(codes.reshape(-1, 1), lengths)

    model, seconds = timed(fit)
    print(f"hmmlearn, {codes.shape[1]} positions, {len(codes)} rows: {seconds:.4f} s, {model.monitor_.iter} iterations")


def splice(data, folds):
    """One HMM a class; letters other than A, C, G and T are a fifth symbol."""
    from hmmlearn.hmm import CategoricalHMM

    logging.disable(logging.CRITICAL)
    with gzip.open(Path(data) / "dna" / "arff_splice.csv.gz", "rt") as file:
        rows = [line.strip().split(",") for line in file][1:]
    y = np.array([row[-1].strip() for row in rows])
    x = np.array([["ACGT".find(letter) % 5 for letter in "".join(row[1:-1])] for row in rows])
    fold = np.array([int(line) for line in Path(folds).read_text().split()])
    classes = sorted(set(y))
    for k in (2, 3, 4):
        start, right = time.process_time(), 0
        for test in range(fold.max() + 1):
            train = fold != test
            scores = []
            for name in classes:
                own = x[train & (y == name)]
                model = CategoricalHMM(k, n_features=5, n_iter=20, random_state=0)
                model.fit(own.reshape(-1, 1), [x.shape[1]] * len(own))
                prior = np.log(len(own))
                scores.append([model.score(row.reshape(-1, 1)) + prior for row in x[~train]])
            right += (np.array(classes)[np.argmax(scores, axis=0)] == y[~train]).sum()
        print(f"hmmlearn, {k} states: accuracy {right / len(y):.4f}, {time.process_time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "speed":
        speed(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "splice":
        splice(*sys.argv[2:])
    else:
        sys.exit(__doc__)
