"""Checks BIF and XMLBIF, both ways, against pyAgrum.

Run from the repository's root, in an environment with
    pip install pyagrum==3.3.1
    python scripts/check_pyagrum.py cargo run --quiet --release -p latentree --example pyagrum_fixture --

The arguments are the command of the Rust side; `write FOLDER` and `read FILE` are appended to it.

pyAgrum's own limits set two of the tolerances: it reads the numbers of BIF in single precision, and it writes six digits
into XMLBIF. Where probabilities are multiples of 1/64 neither matters.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pyagrum as gum


def call(*arguments):
    return subprocess.run([*sys.argv[1:], *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def compare_answers(file, answers):
    """Largest difference between pyAgrum's posteriors and ours; nodes are numbered in the order of the file."""
    network = gum.loadBN(str(file))
    worst = 0.0
    n_compared = 0
    for query in answers["queries"]:
        inference = gum.LazyPropagation(network)
        inference.setEvidence({it["node"]: it["state"] for it in query["evidence"]})
        inference.makeInference()
        for node, expected in enumerate(query["posteriors"]):
            found = inference.posterior(node).tolist()
            assert len(found) == len(expected), (file, node)
            worst = max(worst, *(abs(a - b) for a, b in zip(found, expected)))
            n_compared += len(found)
        probability = inference.evidenceProbability() if query["evidence"] else 1.0
        worst = max(worst, abs(probability - query["probability"]) / query["probability"])
    return worst, n_compared


def random_network(generator, denominator):
    """A random tree of 20 variables with 2 to 5 states."""
    network = gum.BayesNet("fixture")
    for ix in range(20):
        labels = [f"s{ix}_{state}" if ix % 2 else str(state) for state in range(generator.randint(2, 5))]
        network.add(gum.LabelizedVariable(f"x{ix}", "", labels))
    for ix in range(1, 20):
        network.addArc(generator.randrange(ix), ix)
    for node in network.nodes():
        n_states = network.variable(node).domainSize()
        n_rows = network.cpt(node).domainSize() // n_states
        values = []
        for _ in range(n_rows):
            if denominator:
                counts = [1] * n_states
                for _ in range(denominator - n_states):
                    counts[generator.randrange(n_states)] += 1
                values += [count / denominator for count in counts]
            else:
                weights = [generator.uniform(0.01, 1) for _ in range(n_states)]
                values += [weight / sum(weights) for weight in weights]
        # The node's own states vary fastest in a table that is filled at once.
        network.cpt(node).fillWith(values)
    return network


def compare_tables(network, file):
    """Largest difference between the tables of pyAgrum and those we read from its file."""
    ours = {node["name"]: node for node in json.loads(call("read", file))}
    assert len(ours) == network.size()
    worst = 0.0
    for node in network.nodes():
        variable = network.variable(node)
        found = ours[variable.name()]
        parents = [network.variable(parent) for parent in network.parents(node)]
        assert found["parent"] == (parents[0].name() if parents else None)
        assert found["labels"] == list(variable.labels())
        for row in range(parents[0].domainSize() if parents else 1):
            for state in range(variable.domainSize()):
                where = {variable.name(): state} | ({parents[0].name(): row} if parents else {})
                worst = max(worst, abs(network.cpt(node)[where] - found["table"][row][state]))
    return worst


def main():
    failures = 0

    def report(what, worst, tolerance):
        nonlocal failures
        failures += worst > tolerance
        print(f"{'ok  ' if worst <= tolerance else 'FAIL'} {what}: largest difference {worst:.3g}, allowed {tolerance:g}")

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        call("write", folder)
        for name, ending, tolerance in [
            ("model", "bif", 1e-8),
            ("model", "bifxml", 1e-8),
            ("digits", "bif", 1e-5),
            ("digits", "bifxml", 1e-8),
        ]:
            answers = json.loads((folder / f"{name}.answers.json").read_text())
            worst, n_compared = compare_answers(folder / f"{name}.{ending}", answers)
            report(f"pyAgrum reads our {name}.{ending}, {n_compared} posterior probabilities", worst, tolerance)
        for denominator, ending, tolerance in [
            (64, "bif", 0.0),
            (64, "bifxml", 0.0),
            (None, "bif", 0.0),
            (None, "bifxml", 1e-5),
        ]:
            worst = 0.0
            for seed in range(3):
                network = random_network(random.Random(seed), denominator)
                file = folder / f"theirs.{ending}"
                gum.saveBN(network, str(file))
                worst = max(worst, compare_tables(network, file))
            digits = "multiples of 1/64" if denominator else "all digits"
            report(f"we read pyAgrum's .{ending}, {digits}", worst, tolerance)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
