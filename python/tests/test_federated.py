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
