"""What the estimators of Dask and Ray do besides learning; lost workers and mistakes."""

import importlib
import os
import sys

import numpy as np
import pandas as pd
import pytest

from latentree import LatentTree

FAST = {"structure": "clnj", "em_iterations": 2}


@pytest.fixture(scope="module")
def dask_rows(clinic):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(clinic, npartitions=3)


def test_dask_frames_and_arrays(dask_rows, client, clinic):
    import dask.array

    from latentree.dask import DaskLatentTree

    model = DaskLatentTree(client=client, **FAST).fit(dask_rows)
    names = list(model.tree.get_feature_names_out())
    found = model.transform(dask_rows).compute()
    assert list(found.columns) == names
    np.testing.assert_allclose(found.to_numpy(), model.tree.transform(clinic), atol=1e-12)
    assert model.score(dask_rows) == pytest.approx(model.tree.score(clinic), rel=1e-12)
    holes = dask_rows.astype(float).mask(dask_rows == 1)
    assert not model.impute(holes).compute().isna().any().any()
    array = DaskLatentTree(**FAST).fit(dask.array.from_array(clinic.to_numpy(), chunks=(700, 5)))
    assert array.tree.log_likelihood_ == pytest.approx(model.tree.log_likelihood_, rel=1e-9)
    assert array.transform(dask.array.from_array(clinic.to_numpy(), chunks=(900, -1))).compute().shape == found.shape
    assert array.get_params()["structure"] == "clnj" and array.set_params(n_states=3).get_params()["n_states"] == 3


def test_a_lost_dask_worker_costs_its_part_only(dask_rows, client, tmp_path):
    from latentree.dask import DaskLatentTree

    passes = str(tmp_path / "passes")

    def kill_once(part):
        with open(passes, "ab") as file:
            file.write(b".")
        if os.path.getsize(passes) == 5:
            os.kill(os.getpid(), 9)
        return part

    expected = DaskLatentTree(client=client, **FAST).fit(dask_rows).tree
    tree = DaskLatentTree(client=client, **FAST).fit(dask_rows.map_partitions(kill_once, meta=dask_rows._meta)).tree
    assert os.path.getsize(passes) > 5
    # The same parts in the same order: the same bytes.
    assert tree.to_json() == expected.to_json()


def test_dask_mistakes_are_told(dask_rows, client, clinic):
    from latentree.dask import DaskLatentTree

    with pytest.raises(ValueError, match="no column 'fevr'; it has"):
        DaskLatentTree(client=client, features_cols=["fevr"]).fit(dask_rows)
    with pytest.raises(TypeError, match="needs a dask.dataframe or a dask.array, not DataFrame"):
        DaskLatentTree(client=client).fit(clinic)
    with pytest.raises(ValueError, match="there are no rows"):
        DaskLatentTree(client=client, **FAST).fit(dask_rows[dask_rows.iloc[:, 0] > 5])
    changing = dask_rows.map_partitions(lambda part: part.sample(n=int.from_bytes(os.urandom(2), "little") % 500 + 50), meta=dask_rows._meta)
    with pytest.raises(ValueError, match="the rows change from pass to pass"):
        DaskLatentTree(client=client, **FAST).fit(changing)


def test_ray_datasets(ray_cluster, clinic):
    from latentree.ray import RayLatentTree

    rows = ray_cluster.data.from_pandas(np.array_split(clinic, 3)).materialize()
    model = RayLatentTree(**FAST).fit(rows)
    found = model.transform(rows).to_pandas()
    names = list(model.tree.get_feature_names_out())
    # Ray turns missing numbers into objects.
    cells = found[clinic.columns].astype("Float64").astype(float)
    np.testing.assert_allclose(found[names].to_numpy(float), model.tree.transform(cells), atol=1e-12)
    assert model.score(rows) == pytest.approx(model.tree.score(clinic), rel=1e-12)
    with pytest.raises(ValueError, match="no column 'fevr'"):
        RayLatentTree(features_cols=["fevr"]).fit(rows)
    with pytest.raises(TypeError, match="ray.data.Dataset, not DataFrame"):
        RayLatentTree().fit(clinic)
    with pytest.raises(ValueError, match="no rows"):
        RayLatentTree(**FAST).fit(rows.filter(lambda row: False))
    with pytest.raises(ValueError, match="^row 1, column \"w\": the row's weight -1 is negative$"):
        RayLatentTree(weight_col="w", **FAST).fit(ray_cluster.data.from_pandas(clinic.assign(w=-1.0)))
    change = lambda part: part.sample(n=int.from_bytes(os.urandom(2), "little") % 500 + 50)
    with pytest.raises(ValueError, match="the rows change from pass to pass"):
        RayLatentTree(**FAST).fit(rows.map_batches(change, batch_format="pandas"))


@pytest.fixture
def answers():
    """A table whose first column has a label that only its last row has."""
    rng = np.random.default_rng(1)
    cause = rng.integers(2, size=600)
    frame = pd.DataFrame({name: np.array(["no", "yes"])[np.where(rng.random(600) < 0.85, cause, 1 - cause)] for name in "abcd"})
    frame.loc[599, "a"] = "perhaps"
    return frame


def test_a_label_of_one_partition_and_an_empty_partition(client, ray_cluster, answers):
    import dask.dataframe

    from latentree.dask import DaskLatentTree
    from latentree.ray import RayLatentTree

    expected = LatentTree(structure="clnj").fit(answers).log_likelihood_
    parts = dask.dataframe.from_pandas(answers, npartitions=4)
    parts = dask.dataframe.concat([parts, parts[parts["a"] == "never"]])
    assert 0 in parts.map_partitions(len).compute().to_list()
    assert DaskLatentTree(client=client, structure="clnj").fit(parts).tree.log_likelihood_ == pytest.approx(expected, rel=1e-9)
    rows = ray_cluster.data.from_pandas([answers[:300], answers[:0], answers[300:]]).materialize()
    assert RayLatentTree(structure="clnj").fit(rows).tree.log_likelihood_ == pytest.approx(expected, rel=1e-9)


def test_columns_of_other_types_are_told(client, ray_cluster):
    import dask.dataframe

    from latentree.dask import DaskLatentTree
    from latentree.ray import RayLatentTree

    days = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=20)})
    with pytest.raises(ValueError, match="no column remains as a variable"):
        DaskLatentTree(client=client, **FAST).fit(dask.dataframe.from_pandas(days, npartitions=2))
    with pytest.raises(ValueError, match="no column remains as a variable"):
        RayLatentTree(**FAST).fit(ray_cluster.data.from_pandas(days))


@pytest.mark.parametrize("engine, library", [("dask", "dask"), ("ray", "ray"), ("spark", "pyspark")])
def test_an_old_version_is_refused(engine, library, monkeypatch):
    module = pytest.importorskip(library)
    monkeypatch.setattr(module, "__version__", "1.2.0")
    monkeypatch.delitem(sys.modules, f"latentree.{engine}", raising=False)
    with pytest.raises(ImportError, match=f"1.2.0 is installed: pip install 'latentree.{engine}.'"):
        importlib.import_module(f"latentree.{engine}")


def test_columns_of_many_labels_are_learned_by_passes(client, ray_cluster):
    import dask.dataframe

    from latentree.dask import DaskLatentTree

    rng = np.random.default_rng(2)
    cause = rng.integers(3, size=(4000, 2))
    columns = {f"c{ix}": cause[:, ix // 8] * 20 + rng.integers(50, size=4000) for ix in range(16)}
    frame = pd.DataFrame({name: np.char.add("v", values.astype(str)) for name, values in columns.items()})
    one = LatentTree(**FAST).fit(frame)
    for n_parts in (1, 5):
        tree = DaskLatentTree(client=client, **FAST).fit(dask.dataframe.from_pandas(frame, npartitions=n_parts)).tree
        assert tree.report_["log_likelihood"] == pytest.approx(one.report_["log_likelihood"], rel=1e-9)
    with pytest.raises(ValueError, match="sample_bytes.*a sample of the rows, which is forbidden"):
        DaskLatentTree(client=client, sample_bytes=0, **FAST).fit(dask.dataframe.from_pandas(frame, npartitions=2))
