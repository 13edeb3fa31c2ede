"""Runs across sites, from Python."""

import numpy as np
import pandas as pd
import pytest

from latentree import federated, read_model


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 2, 900)
    return pd.DataFrame({f"x{i}": (cause ^ (rng.random(900) < 0.1)).astype(int) for i in range(5)})


def rounds(folder, step, sites, **settings):
    n = 0
    while step.model is None:
        n += 1
        parts = [
            federated.answer(step.passes, rows, site=name, output=folder / f"{name}.part", **settings.get(name, {})).part
            for name, rows in sites.items()
        ]
        step = federated.next(folder / "run", parts)
    return n, step


def test_two_sites_learn_a_model(tmp_path, table):
    sites = {"north": table[:500], "south": table[500:]}
    step = federated.start(tmp_path / "run", schema=federated.schema(table), sites=sites, structure="clnj")
    n, step = rounds(tmp_path, step, sites)
    assert n == len(step.details["rounds"])
    model = read_model(step.model)
    assert len(model.items()) == 1
    assert federated.status(tmp_path / "run").model == step.model


def test_masked_and_late_sites(tmp_path, table):
    for name in ("north", "south", "west"):
        federated.keygen(name, tmp_path)
    keys = [tmp_path / f"{name}.pub" for name in ("north", "south", "west")]
    step = federated.start(tmp_path / "run", schema=federated.schema(table), keys=keys, structure="clnj")
    sites = {"north": table[:500], "south": table[500:]}
    settings = {name: {"mask": tmp_path / f"{name}.key"} for name in sites}
    parts = [
        federated.answer(step.passes, rows, site=name, output=tmp_path / f"{name}.part", **settings[name]).part
        for name, rows in sites.items()
    ]
    waiting = federated.next(tmp_path / "run", parts)
    assert waiting.missing == ["west"]
    step = federated.next(tmp_path / "run", without=["west"])
    _, step = rounds(tmp_path, step, sites, **settings)
    assert step.model.exists()


def test_errors_are_those_of_the_program(tmp_path, table):
    with pytest.raises(ValueError, match="in one place"):
        federated.start(tmp_path / "run", schema=federated.schema(table), select="bic")
    with pytest.raises(ValueError, match="no run"):
        federated.next(tmp_path)
    with pytest.raises(TypeError, match="DataFrame"):
        federated.schema(3)


WRONG = {
    "sites": (lambda folder, columns: federated.start(folder, schema=columns, sites="north"), TypeError, r"sites: .*\['north'\]"),
    "keys": (lambda folder, columns: federated.start(folder, schema=columns, keys="north.pub"), TypeError, "keys"),
    "ranges": (lambda folder, columns: federated.start(folder, schema=columns, dp_rho=1, ranges={"x0": 3}), TypeError, "ranges"),
    "schema": (lambda folder, columns: federated.start(folder, schema=["x0"]), TypeError, "schema"),
    "variables": (lambda folder, columns: federated.start(folder, schema={}), ValueError, "^schema, line 1: .*federated.schema"),
    "option": (lambda folder, columns: federated.start(folder, schema=columns, colour="red"), TypeError, "no option 'colour'"),
    "em": (
        lambda folder, columns: federated.start(folder, schema=columns, em_iterations=3),
        ValueError,
        r'^em_iterations: .* parameters="moments\+em"',
    ),
    "number": (lambda folder, columns: federated.start(folder, dp_rho="x"), ValueError, "for dp_rho: invalid"),
    "parts": (lambda folder, columns: federated.next(folder, "a.part"), TypeError, "parts"),
    "without": (lambda folder, columns: federated.next(folder, without="north"), TypeError, "without"),
    "run": (lambda folder, columns: federated.status(folder), ValueError, "federated.start"),
}


@pytest.mark.parametrize("case", WRONG)
def test_messages_name_arguments_and_functions(case, tmp_path, table):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message) as caught:
        call(tmp_path / "run", federated.schema(table) if case not in ("parts", "without", "run") else None)
    assert "--" not in str(caught.value) and "federate " not in str(caught.value)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"least_sites": 3}, r"\(least_sites\), and this run has no masks; .* with keys"),
        ({"masked": True}, "masks"),
        ({"least_row": 3}, "^policy, line 1: .*unknown field `least_row`"),
        ({"least_rows": 10_000}, "at least 10000"),
        ([], "policy: list given"),
    ],
)
def test_a_policy_is_kept_or_refused(policy, message, tmp_path, table):
    step = federated.start(tmp_path / "run", schema=federated.schema(table), sites=["north", "south"])
    with pytest.raises((TypeError, ValueError), match=message):
        federated.answer(step.passes, table, site="north", output=tmp_path / "north.part", policy=policy)
    assert not (tmp_path / "north.part").exists()
