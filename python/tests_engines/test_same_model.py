"""The same rows on one machine and on each engine: the same tree, log-likelihood and tables."""

import os

import numpy as np
import pandas as pd
import pytest

from latentree import LatentTree

#: All tables with all numbers of partitions take a quarter of an hour: by default each has one.
EVERYTHING = os.environ.get("LATENTREE_ENGINES") == "all"
FAST = {"structure": "clnj", "em_iterations": 3}


def table(name, request):
    """A table, and how it is learned."""
    if name in ("clinic", "gaussian"):
        return request.getfixturevalue(name), {"structure": "clnj"} if name == "gaussian" else FAST
    folder = request.getfixturevalue("real_data")
    if name == "bfi":
        return pd.read_csv(folder / "surveys" / "bfi.csv.gz").iloc[:, :25], FAST
    if name == "newsgroups":
        return pd.read_csv(folder / "news20_w100" / "news20_w100.csv.gz"), FAST
    events = pd.read_csv(next((folder / "ehr").rglob("*diabetes*events*.csv*")), dtype=str)
    return pd.crosstab(events.iloc[:, 0], events.iloc[:, 1]).clip(upper=1).astype("int8").rename_axis(None, axis=1), FAST


def on_spark(request, frame, n_parts, options):
    from latentree.spark import SparkLatentTree

    spark = request.getfixturevalue("spark")
    # Nulls, not NaN, are what Spark has for missing cells of whole numbers.
    rows = spark.createDataFrame(frame).repartition(n_parts).persist()
    return SparkLatentTree(**options).fit(rows).tree


def on_dask(request, frame, n_parts, options):
    import dask.dataframe

    from latentree.dask import DaskLatentTree

    client = request.getfixturevalue("client")
    return DaskLatentTree(client=client, **options).fit(dask.dataframe.from_pandas(frame, npartitions=n_parts)).tree


def on_ray(request, frame, n_parts, options):
    ray = request.getfixturevalue("ray_cluster")
    from latentree.ray import RayLatentTree

    rows = ray.data.from_pandas(np.array_split(frame, n_parts) if n_parts > 1 else frame)
    return RayLatentTree(**options).fit(rows.materialize()).tree


def cases():
    for engine in (on_spark, on_dask, on_ray):
        yield engine, "clinic", 3
        others = [("gaussian", 16), ("bfi", 3), ("newsgroups", 3)]
        if EVERYTHING:
            others = [(name, parts) for name in ("clinic", "gaussian", "bfi", "newsgroups", "diabetes") for parts in (1, 3, 16)]
            others.remove(("clinic", 3))
        elif engine is not on_dask:
            others = [("gaussian", 16), ("bfi", 3)]
        yield from ((engine, *it) for it in others)


@pytest.fixture(scope="session")
def on_one_machine():
    """The model of a table on one machine, learned once for all engines."""
    known = {}

    def learned(name, frame, options):
        if name not in known:
            known[name] = LatentTree(**options).fit(frame)
        return known[name]

    return learned


@pytest.mark.parametrize("engine, name, n_parts", cases(), ids=lambda it: getattr(it, "__name__", it))
def test_the_model_is_that_of_one_machine(engine, name, n_parts, on_one_machine, request):
    frame, options = table(name, request)
    one, other = on_one_machine(name, frame, options), engine(request, frame, n_parts, options)
    assert other.report_["rows"] == len(frame)
    assert one.report_["log_likelihood"] == pytest.approx(other.report_["log_likelihood"], rel=1e-9)
    matrices = [tree.distances() for tree in (one, other)]
    assert matrices[0][1] == matrices[1][1]
    np.testing.assert_allclose(matrices[0][0], matrices[1][0], atol=1e-6)
    # The tables are made anew each time they are asked for.
    tables = other.tables_
    for variable, cells in one.tables_.items():
        np.testing.assert_allclose(cells.to_numpy(float), tables[variable].to_numpy(float), atol=1e-6)


@pytest.mark.parametrize("engine", [on_spark, on_dask, on_ray], ids=lambda it: it.__name__)
def test_the_default_search_finds_the_same_model(engine, clinic, request):
    one, other = LatentTree().fit(clinic), engine(request, clinic, 3, {})
    assert one.report_["log_likelihood"] == pytest.approx(other.report_["log_likelihood"], rel=1e-9)
    assert one.report_["bic"] == pytest.approx(other.report_["bic"], rel=1e-9)
