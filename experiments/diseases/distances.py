#!/usr/bin/env python3
"""How near are two variables in a fitted model of 0/1 variables? Several answers beside groups of the variables.

Usage: distances.py FILE:ITEM,GROUP MODEL…

All answers are computed from the joint distributions that a model implies, without rows. For each, the program prints the share of variables whose
nearest variable is in their group, the area under the curve of "same group", and both for average linkage of `√(2 (1 − ρ))`. Needs NumPy and SciPy."""

import csv
import json
import sys

import numpy
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata


class Model:
    """Marginals, tables and neighbours of a model file."""

    def __init__(self, path):
        file = json.load(open(path))
        self.code = file["schema"].get("codes", {})
        self.observed = [node["name"] for node in file["nodes"] if node["observed"]]
        self.parent = {edge["target"]: edge["source"] for edge in file["edges"]}
        self.near = {node["name"]: [] for node in file["nodes"]}
        for edge in file["edges"]:
            self.near[edge["source"]].append(edge["target"])
            self.near[edge["target"]].append(edge["source"])
        self.table = {name: numpy.array(table.get("given") or table["prior"], float) for name, table in file["tables"].items()}
        self.marginal = {}
        for name in self.near:
            way = [name]
            while way[-1] in self.parent and way[-1] not in self.marginal:
                way.append(self.parent[way[-1]])
            for node in reversed(way):
                above = self.parent.get(node)
                self.marginal.setdefault(node, self.table[node] if above is None else self.marginal[above] @ self.table[node])

    def joints(self, start):
        """The joint distribution of a variable with each node of its tree."""
        stack = [(start, None, numpy.diag(self.marginal[start]))]
        while stack:
            node, back, joint = stack.pop()
            yield node, joint
            for to in self.near[node]:
                if to == back:
                    continue
                if self.parent.get(to) == node:
                    step = self.table[to]
                else:
                    step = (self.marginal[to][:, None] * self.table[node]).T / numpy.maximum(self.marginal[node], 1e-300)[:, None]
                stack.append((to, node, joint @ step))

    def pairs(self):
        """Shares of 1, shares of pairs that are both 1, and the share of each variance that the best neighbour explains."""
        share = numpy.array([self.marginal[name][1] for name in self.observed])
        place = {name: ix for ix, name in enumerate(self.observed)}
        both, explained = numpy.outer(share, share), numpy.zeros(len(share))
        for row, start in enumerate(self.observed):
            for node, joint in self.joints(start):
                if node in place:
                    both[row, place[node]] = joint[1, 1]
                if node in self.near[start]:
                    weight = joint.sum(0)
                    mean = joint[1] / numpy.maximum(weight, 1e-300)
                    explained[row] = max(explained[row], (weight * (mean - share[row]) ** 2).sum() / (share[row] * (1 - share[row])))
        return share, (both + both.T) / 2, explained


def similarities(share, both, explained):
    deviation = numpy.sqrt(share * (1 - share))
    rho = (both - numpy.outer(share, share)) / numpy.outer(deviation, deviation)
    low, high = numpy.minimum.outer(share, share), numpy.maximum.outer(share, share)
    largest = (low - low * high) / numpy.outer(deviation, deviation)
    cells = [both, share[:, None] - both, share[None, :] - both, 1 - share[:, None] - share[None, :] + both]
    cells = [numpy.maximum(cell, 1e-12) for cell in cells]
    alone = [numpy.outer(a, b) for a in (share, 1 - share) for b in (share, 1 - share)]
    information = sum(cell * numpy.log(cell / product) for cell, product in zip(cells, alone)) * numpy.sign(rho)
    entropy = -(share * numpy.log(share) + (1 - share) * numpy.log(1 - share))
    odds = cells[0] * cells[3] / (cells[1] * cells[2])
    own = numpy.sqrt(numpy.maximum(explained, 1e-9))
    empty = rho.copy()
    numpy.fill_diagonal(empty, 0)
    # Length of each row without the entry of the other variable of a pair.
    length = numpy.sqrt(numpy.maximum((empty**2).sum(1)[:, None] - empty**2, 1e-30))
    return {
        "correlation (the product's)": rho,
        "correlation, no sign": abs(rho),
        "divided by the largest possible": numpy.where(rho > 0, rho / largest, rho),
        "information / √(H H)": information / numpy.sqrt(numpy.outer(entropy, entropy)),
        "information / least H": information / numpy.minimum.outer(entropy, entropy),
        "log odds ratio": numpy.log(odds),
        "lift": numpy.log(cells[0] / alone[0]),
        "denoised, both": rho / numpy.outer(own, own),
        "denoised, half": rho / numpy.sqrt(numpy.outer(own, own)),
        "cosine of the other correlations": empty @ empty.T / (length * length.T),
    }


def measures(similarity, groups):
    similarity = numpy.round(similarity, 12)
    numpy.fill_diagonal(similarity, -numpy.inf)
    same = groups[:, None] == groups[None, :]
    numpy.fill_diagonal(same, False)
    rows = [row for row in range(len(groups)) if same[row].any()]
    nearest = [same[row][similarity[row] >= similarity[row].max()].mean() for row in rows]
    pairs = numpy.triu_indices(len(groups), 1)
    rank, is_same = rankdata(similarity[pairs]), same[pairs]
    n_same = is_same.sum()
    auc = (rank[is_same].sum() - n_same * (n_same + 1) / 2) / (n_same * (~is_same).sum())
    return numpy.mean(nearest), auc


if __name__ == "__main__":
    path, _, columns = sys.argv[1].rpartition(":")
    item, group = columns.split(",")
    group_of = {row[item]: row[group] for row in csv.DictReader(open(path)) if row[group]}
    for path in sys.argv[2:]:
        model = Model(path)
        codes = [model.code.get(name, name) for name in model.observed]
        known = [ix for ix, code in enumerate(codes) if code in group_of]
        groups, at = numpy.array([group_of[codes[ix]] for ix in known]), numpy.ix_(known, known)
        found = similarities(*model.pairs())
        for name, similarity in found.items():
            nearest, auc = measures(similarity[at], groups)
            print(f"| {path} | {name} | {nearest:.3f} | {auc:.3f} |")
        distance = numpy.sqrt(numpy.maximum(2 - 2 * found["correlation (the product's)"][at], 0))
        numpy.fill_diagonal(distance, 0)
        nearest, auc = measures(-squareform(cophenet(linkage(squareform(distance, checks=False), "average"))), groups)
        print(f"| {path} | average linkage of it | {nearest:.3f} | {auc:.3f} |")
