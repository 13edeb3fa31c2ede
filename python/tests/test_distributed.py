"""Passes over rows in parts: the same model as from the rows themselves."""

import concurrent.futures
import importlib
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from latentree import LatentTree
from latentree.distributed import merge, observe

from conftest import draw


def mixed(n_rows=1200, seed=1):
    """Labels, truth values, numbers and missing cells with one hidden cause."""
    rng = np.random.default_rng(seed)
    cause = rng.integers(2, size=n_rows)
    noisy = lambda: np.where(rng.random(n_rows) < 0.85, cause, 1 - cause)
    frame = pd.DataFrame({"a": noisy(), "b": np.array(["no", "yes"])[noisy()], "c": noisy().astype(bool), "d": noisy() * 2 + 1})
    frame["e"] = cause + rng.normal(size=n_rows)
    frame["f"] = np.array(["low", "mid", "high"])[np.clip(cause + rng.integers(2, size=n_rows), 0, 2)]
    frame.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "f"] = None
    return frame


def runner(frame, n_parts):
    """Answers of parts of a frame, the first of which is empty."""
    bounds = np.linspace(0, len(frame), n_parts + 1).astype(int)
    parts = [frame.iloc[:0]] + [frame.iloc[a:b] for a, b in zip(bounds, bounds[1:])]
    return lambda task: merge([observe(task, [part]) for part in parts])


def assert_same(one, other):
    assert set(one.report_) == set(other.report_)
    assert one.to_newick().count("h") == other.to_newick().count("h")
    distances = [tree.distances() for tree in (one, other)]
    assert distances[0][1] == distances[1][1]
    np.testing.assert_allclose(distances[0][0], distances[1][0], atol=1e-6)
    assert one.report_["log_likelihood"] == pytest.approx(other.report_["log_likelihood"], rel=1e-9)
    for name, table in one.tables_.items():
        np.testing.assert_allclose(table.to_numpy(float), other.tables_[name].to_numpy(float), atol=1e-6)


@pytest.mark.parametrize("n_parts", [1, 3, 16])
@pytest.mark.parametrize("options", [{"structure": "clnj"}, {}])
def test_parts_give_the_model_of_the_rows(n_parts, options):
    frame = mixed()
    assert_same(LatentTree(**options).fit_passes(runner(frame, n_parts)), LatentTree(**options).fit(frame))


def test_a_gaussian_table_in_parts():
    rng = np.random.default_rng(3)
    cause = rng.normal(size=(800, 2))
    frame = pd.DataFrame(cause[:, [0, 0, 0, 1, 1, 1]] + rng.normal(size=(800, 6)), columns=list("abcdef"))
    options = {"structure": "clnj"}
    assert_same(LatentTree(**options).fit_passes(runner(frame, 5)), LatentTree(**options).fit(frame))


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
def test_weights_mean_what_they_mean_in_one_place(kind):
    frame = mixed()
    weights = np.random.default_rng(2).integers(0, 4, len(frame)) + (0.5 if kind == "sampling" else 0)
    options = {"structure": "clnj", "weight_kind": kind, "em_iterations": 10}
    one = LatentTree(**options).fit(frame, sample_weight=weights)
    assert_same(LatentTree(**options).fit_passes(runner(frame.assign(w=weights), 3), weight_col="w"), one)


def test_a_label_of_one_part_is_known_to_all():
    frame = mixed()
    frame.loc[len(frame) - 1, "f"] = "never"
    tree = LatentTree(structure="clnj", em_iterations=2).fit_passes(runner(frame, 6))
    assert dict((name, labels) for name, _, labels in tree.model_.columns())["f"] == ["high", "low", "mid", "never"]


def test_a_search_beyond_the_sample_fits_all_rows():
    frame = pd.DataFrame(draw(6000)[0]).rename(columns=lambda ix: f"x{ix + 1}")
    with pytest.warns(match="sample of [0-9]+ of 6000 rows"):
        tree = LatentTree().fit_passes(runner(frame, 3), sample_bytes=24_000)
    whole = LatentTree().fit(frame)
    assert tree.report_["rows"] == 6000
    # EM on all rows ends where the search on all rows does, up to its tolerance.
    assert tree.report_["log_likelihood"] == pytest.approx(whole.report_["log_likelihood"], rel=1e-4)
    with pytest.raises(ValueError, match="elsewhere"):
        LatentTree().fit_passes(runner(frame, 3), sample_bytes=0)


def test_validation_rows_stop_em():
    frame = mixed(2000)
    options = {"structure": "clnj"}
    tree = LatentTree(**options).fit_passes(runner(frame[:1500], 3), validation=runner(frame[1500:], 2))
    assert tree.report_["validation_rows"] == 500


def test_sparse_parts_with_a_schema():
    rows = draw(900)[0]
    matrix = scipy.sparse.csr_array(rows)
    schema = {"variables": [{"name": f"x{ix + 1}", "kind": "binary", "labels": ["0", "1"]} for ix in range(rows.shape[1])]}
    run = lambda task: merge([observe(task, [part]) for part in (matrix[:300], matrix[300:])])
    tree = LatentTree(structure="clnj").fit_passes(run, schema=schema)
    assert tree.log_likelihood_ == pytest.approx(LatentTree(structure="clnj").fit(rows).log_likelihood_, rel=1e-9)


def test_threads_answer_at_once():
    frame = mixed()
    parts = [frame.iloc[ix::4] for ix in range(4)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        run = lambda task: merge(list(pool.map(lambda part: observe(task, [part]), parts)))
        tree = LatentTree(structure="clnj").fit_passes(run)
    assert tree.report_["rows"] == len(frame)


def test_rows_that_change_are_noticed():
    frame, calls = mixed(), []

    def run(task):
        calls.append(task)
        return merge([observe(task, [frame.iloc[: len(frame) - len(calls)]])])

    estimator = LatentTree(structure="clnj")
    with pytest.raises(ValueError, match="1199 rows and a later one 1198"):
        estimator.fit_passes(run)
    assert not hasattr(estimator, "model_")


def test_bad_input_is_told():
    frame = mixed()
    fit = lambda run, **settings: LatentTree(structure="clnj").fit_passes(run, **settings)
    with pytest.raises(ValueError, match="no rows"):
        fit(lambda task: merge([observe(task, [])]))
    with pytest.raises(ValueError, match="no rows"):
        fit(runner(frame.iloc[:0], 1))
    with pytest.raises(ValueError, match="^columns.*\"zz\""):
        fit(runner(frame, 2), columns=["a", "zz"])
    with pytest.raises(ValueError, match="weight_col.*\"zz\""):
        fit(runner(frame, 2), weight_col="zz")
    with pytest.raises(ValueError, match="weight"):
        fit(runner(frame.assign(w=-1.0), 2), weight_col="w")
    other = frame.rename(columns={"b": "bb"})
    with pytest.raises(ValueError, match="other columns"):
        fit(lambda task: merge([observe(task, [frame]), observe(task, [other])]))
    dates = frame.assign(g=pd.Timestamp("2020-01-01"))
    with pytest.warns(match="\"g\" is ignored: it holds dates"):
        fit(runner(dates, 2))
    with pytest.raises(ZeroDivisionError):
        fit(lambda task: 1 // 0)
    with pytest.raises(TypeError, match="bytes"):
        fit(lambda task: None)
    with pytest.raises(TypeError, match="function"):
        fit(b"")
    with pytest.raises(ValueError, match="no answers|none to merge"):
        fit(lambda task: merge([]))
    with pytest.raises(ValueError, match="not a valid latentree task"):
        fit(lambda task: runner(frame, 1)(task)[:-400])
    with pytest.raises(ValueError, match="schema"):
        fit(runner(frame, 1), schema="{}")
    known = LatentTree(structure="clnj").fit(frame)
    with pytest.raises(ValueError, match="never"):
        fit(runner(frame.assign(f="never"), 2), schema=known)
    with pytest.raises(ValueError, match="no column \"b\""):
        fit(runner(other, 2), schema=known)


def test_the_error_of_a_part_is_the_one_that_is_raised():
    def broken():
        yield pa.RecordBatch.from_pydict({"a": [1, 2]})
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        LatentTree(structure="clnj").fit_passes(lambda task: merge([observe(task, broken())]))


@pytest.mark.parametrize("engine, package", [("spark", "pyspark"), ("dask", "dask"), ("ray", "ray")])
def test_a_missing_engine_says_what_to_install(engine, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name == f"latentree.{engine}"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=rf"pip install 'latentree\[{engine}\]'"):
        importlib.import_module(f"latentree.{engine}")


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_passes_run_in_the_same_process_for_any_number_of_threads(n_jobs):
    """With one thread, a pass waited for the thread that waited for the pass."""
    frame = mixed(300)
    run = lambda task: merge([observe(task, [part], n_jobs=n_jobs or -1) for part in (frame[:150], frame[150:])])
    fit = lambda: LatentTree(structure="clnj", n_jobs=n_jobs).fit_passes(run).report_["log_likelihood"]
    expected = LatentTree(structure="clnj").fit(frame).report_["log_likelihood"]
    # In worker threads, too: a daemon does not keep the tests from ending.
    found = []
    threads = [threading.Thread(target=lambda: found.append(fit()), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == pytest.approx([expected] * 3)


def test_rows_may_come_from_another_model():
    frame = mixed(300)
    tree = LatentTree(structure="clnj", n_jobs=1).fit(frame)

    def run(task):
        return observe(task, (tree.impute(part) for part in (frame[:150], frame[150:])))

    assert LatentTree(structure="clnj", n_jobs=1).fit_passes(run).report_["rows"] == 300
