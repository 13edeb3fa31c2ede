import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def real_data():
    """The folder of public data sets; tests that need it are skipped where it is not."""
    given = os.environ.get("LATENTREE_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no data: set LATENTREE_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def clinic():
    return pd.read_csv(ROOT / "examples" / "clinic.csv")


@pytest.fixture(scope="session")
def gaussian():
    rng = np.random.default_rng(3)
    cause = rng.normal(size=(2000, 3)) @ np.array([[1, 0.5, 0.5], [0, 1, 0.5], [0, 0, 1]])
    return pd.DataFrame(cause[:, [0, 0, 0, 1, 1, 1, 2, 2, 2]] + rng.normal(size=(2000, 9)), columns=[f"x{ix}" for ix in range(9)])


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs a JDK")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("latentree")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="session")
def ray_cluster():
    ray = pytest.importorskip("ray")
    import ray.data

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()
