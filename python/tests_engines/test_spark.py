"""The conventions of pyspark.ml, lost executors and mistakes."""

import os

import numpy as np
import pandas as pd
import pytest

from latentree import LatentTree

pytest.importorskip("pyspark")
FAST = {"structure": "clnj", "em_iterations": 2}


@pytest.fixture(scope="module")
def rows(spark, clinic):
    return spark.createDataFrame(clinic).repartition(3).persist()


@pytest.fixture(scope="module")
def model(rows):
    from latentree.spark import SparkLatentTree

    return SparkLatentTree(**FAST).fit(rows)


def test_transform_score_and_impute_are_those_of_the_tree(rows, model, clinic, spark):
    tree = model.tree
    found = model.transform(rows).toPandas()
    assert list(found.columns) == [*clinic.columns, *tree.get_feature_names_out(), "log_likelihood"]
    np.testing.assert_allclose(found[list(tree.get_feature_names_out())].to_numpy(), tree.transform(found[clinic.columns]), atol=1e-12)
    assert model.score(rows) == pytest.approx(tree.score(clinic), rel=1e-12)
    assert model.summary.n_rows == len(clinic) and model.summary.log_likelihood == tree.log_likelihood_
    holes = clinic.head(200).astype("float").mask(np.random.default_rng(0).random((200, clinic.shape[1])) < 0.2)
    filled = model.impute(spark.createDataFrame(holes).repartition(2)).toPandas()
    assert not filled.isna().any().any() and len(filled) == 200


def test_pipelines_searches_and_files(rows, clinic, tmp_path, spark):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from latentree.spark import LogLikelihoodEvaluator, SparkLatentTree, SparkLatentTreeModel

    estimator = SparkLatentTree(features_cols=list(clinic.columns), **FAST)
    pipeline = Pipeline(stages=[estimator, VectorAssembler(inputCols=["h1=0", "log_likelihood"], outputCol="hidden")])
    fitted = pipeline.fit(rows)
    assert "hidden" in fitted.transform(rows).columns
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.stages[0].tree.to_json() == fitted.stages[0].tree.to_json()
    assert again.stages[0].summary.n_rows == len(clinic)
    assert again.stages[0].score(rows) == fitted.stages[0].score(rows)
    (first,) = (tmp_path / "pipeline" / "stages").glob("0_*")
    loaded = SparkLatentTreeModel.load(str(first))
    assert loaded.uid == fitted.stages[0].uid
    grid = ParamGridBuilder().addGrid(estimator.n_states, [2, 3]).build()
    search = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=LogLikelihoodEvaluator(), numFolds=2, seed=1)
    best = search.fit(rows)
    assert len(best.avgMetrics) == 2 and best.bestModel.tree.report_["rows"] == len(clinic)


def test_weights_and_validation_rows(rows, clinic, spark):
    from latentree.spark import SparkLatentTree

    rng = np.random.default_rng(0)
    frame = clinic.assign(w=rng.integers(0, 3, len(clinic)), held=rng.random(len(clinic)) < 0.2)
    estimator = SparkLatentTree(weight_col="w", validation_indicator_col="held", structure="clnj", em_iterations=5)
    found = estimator.fit(spark.createDataFrame(frame).repartition(2))
    assert found.tree.report_["validation_rows"] == frame["held"].sum()
    # Rows of weight 0 do not count.
    assert found.tree.report_["rows"] == (~frame["held"] & (frame["w"] > 0)).sum()


def test_a_lost_executor_costs_its_part_only(rows, model, clinic, tmp_path):
    from latentree.spark import SparkLatentTree

    passes = str(tmp_path / "passes")

    def kill_once(batches):
        with open(passes, "ab") as file:
            file.write(b".")
        # The fifth part that is read takes its executor down: the parent of the parent of this Python process.
        if os.path.getsize(passes) == 5:
            with open(f"/proc/{os.getppid()}/stat") as stat:
                os.kill(int(stat.read().rsplit(")", 1)[1].split()[1]), 9)
        yield from batches

    tree = SparkLatentTree(**FAST).fit(rows.mapInArrow(kill_once, rows.schema)).tree
    assert os.path.getsize(passes) > 5
    assert tree.report_["log_likelihood"] == pytest.approx(model.tree.report_["log_likelihood"], rel=1e-9)
    assert tree.distances()[1] == model.tree.distances()[1]
    np.testing.assert_allclose(tree.distances()[0], model.tree.distances()[0], atol=1e-9)


def test_mistakes_are_told(rows, clinic, spark):
    from latentree.spark import SparkLatentTree

    fit = lambda df, **params: SparkLatentTree(**(FAST | params)).fit(df)
    with pytest.raises(ValueError, match="no column 'fevr'; it has"):
        fit(rows, features_cols=["fevr"])
    with pytest.raises(ValueError, match="no column 'w'"):
        fit(rows, weight_col="w")
    with pytest.raises(TypeError, match="no parameter 'n_state'"):
        SparkLatentTree(n_state=3)
    with pytest.raises(Exception, match="there are no rows"):
        fit(rows.limit(0))
    from pyspark.sql import functions

    with pytest.raises(Exception, match="no column remains as a variable.*dates"):
        fit(rows.select(functions.current_date().alias("day")))

    def change(batches):
        for batch in batches:
            yield batch.slice(0, max(0, batch.num_rows - int.from_bytes(os.urandom(2), "little") % 1000))

    with pytest.raises(ValueError, match="the rows change from pass to pass"):
        fit(rows.mapInArrow(change, rows.schema))


def test_errors_in_rows_are_told_as_on_one_machine(rows, clinic, spark):
    from latentree.spark import SparkLatentTree

    negative = spark.createDataFrame(clinic.head(50).assign(w=-1.0)).repartition(2)
    with pytest.raises(ValueError, match="^row 1, column \"w\": the row's weight -1 is negative$"):
        SparkLatentTree(weight_col="w", **FAST).fit(negative)


def test_names_with_dots_and_backticks(clinic, spark):
    from latentree.spark import SparkLatentTree

    names = {name: ("250.0%d" if ix % 2 else "a`b.%d") % ix for ix, name in enumerate(clinic.columns)}
    frame = clinic.rename(columns=names).assign(**{"w.1": 1.0})
    df = spark.createDataFrame(frame).repartition(2)
    estimator = SparkLatentTree(weight_col="w.1", log_likelihood_col="log.likelihood", **FAST)
    model = estimator.fit(df)
    assert model.tree.log_likelihood_ == pytest.approx(LatentTree(**FAST).fit(clinic).log_likelihood_, rel=1e-9)
    found = model.transform(df)
    assert found.columns == [*frame.columns, *model.tree.get_feature_names_out(), "log.likelihood"]
    assert found.toPandas()["log.likelihood"].mean() == pytest.approx(model.score(df), rel=1e-12)
    assert model.impute(df).toPandas().shape == frame.shape


def test_a_label_of_one_partition_and_an_empty_partition(spark):
    from latentree.spark import SparkLatentTree

    rng = np.random.default_rng(1)
    cause = rng.integers(2, size=600)
    frame = pd.DataFrame({name: np.array(["no", "yes"])[np.where(rng.random(600) < 0.85, cause, 1 - cause)] for name in "abcd"})
    frame.loc[599, "a"] = "perhaps"
    df = spark.createDataFrame(frame).coalesce(1)
    df = df.repartition(8, df["b"])
    tree = SparkLatentTree(structure="clnj").fit(df).tree
    assert tree.log_likelihood_ == pytest.approx(LatentTree(structure="clnj").fit(frame).log_likelihood_, rel=1e-9)
