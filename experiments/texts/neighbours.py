"""The words nearest to some words on a tree of words, by the lengths of the paths between them.

python experiments/texts/neighbours.py MODEL.json N_WORDS [WORD ...]

Without words, ten are taken at equal distances in the order of the columns. For the simulated corpus, whose words are called
w<rank>t<topic> (`experiments text-corpus`), the share of all words whose nearest other word has their topic is printed, too.
"""

import heapq
import json
import re
import sys


def nearest(edges, observed, start, n):
    """The n observed nodes nearest to a node, by Dijkstra's algorithm."""
    best, found, queue = {start: 0.0}, [], [(0.0, start)]
    while queue and len(found) < n:
        far, node = heapq.heappop(queue)
        if far > best[node]:
            continue
        if node != start and node in observed:
            found.append((node, far))
        for other, length in edges[node]:
            if far + length < best.get(other, float("inf")):
                best[other] = far + length
                heapq.heappush(queue, (far + length, other))
    return found


def main(path, n, *words):
    with open(path) as file:
        model = json.load(file)
    observed = [node["name"] for node in model["nodes"] if node["observed"]]
    edges = {node["name"]: [] for node in model["nodes"]}
    for edge in model["edges"]:
        length = edge.get("distance")
        for a, b in ((edge["source"], edge["target"]), (edge["target"], edge["source"])):
            edges[a].append((b, 1.0 if length is None else max(length, 0.0)))
    known = set(observed)
    for word in words or observed[len(observed) // 20 :: len(observed) // 10]:
        told = ", ".join(f"{other} {far:.2f}" for other, far in nearest(edges, known, word, int(n)))
        print(f"{word}: {told}")
    topic = {word: re.fullmatch(r"w\d+t(\d+)", word) for word in observed}
    planted = [word for word in observed if topic[word]]
    if planted:
        same = 0
        for word in planted:
            other = nearest(edges, known, word, 1)
            same += bool(other and topic[other[0][0]] and topic[other[0][0]][1] == topic[word][1])
        print(f"{same} of {len(planted)} words have a word of their topic as their nearest ({same / len(planted):.3f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
