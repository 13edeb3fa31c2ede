"""Two workers against one on Spark and Dask: pair moments and an EM pass, and what a pass costs without rows.

Usage: python experiments/engines.py spark|dask [--rows N] [--columns P] [--workers 1,2] [--repeats R]

It needs the environment of the engine tests (target/venv-engines). Rows are made where they are needed, so no file is read: a row is a hidden state and
noise. Times are the best of the repeats.
"""

import argparse
import os
import sys
import time

import numpy as np
import pyarrow as pa

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def rows(part, n_rows, n_columns):
    """Binary columns in groups of ten with a common cause."""
    rng = np.random.default_rng(part)
    causes = rng.integers(2, size=(n_rows, -(-n_columns // 10)), dtype=np.int8)
    return {f"x{ix}": causes[:, ix // 10] ^ (rng.random(n_rows) < 0.2).astype(np.int8) for ix in range(n_columns)}


def spark_runner(n_workers, n_parts, n_rows, n_columns):
    from pyspark.sql import SparkSession

    from latentree.spark import _runner

    builder = SparkSession.builder.master(f"local-cluster[{n_workers},1,2048]").config("spark.ui.enabled", False)
    session = builder.config("spark.executor.memory", "2g").config("spark.sql.shuffle.partitions", n_workers).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    schema = ", ".join(f"x{ix} tinyint" for ix in range(n_columns))

    def make(batches):
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict(rows(part, n_rows // n_parts, n_columns))

    df = session.range(0, n_parts, 1, n_parts).mapInArrow(make, schema).persist()
    return _runner(df), _runner(df.limit(0).repartition(n_parts)), session.stop


def dask_runner(n_workers, n_parts, n_rows, n_columns):
    import dask
    import pandas as pd
    from distributed import Client, LocalCluster

    from latentree.dask import _merge, _observe

    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0)
    client = Client(cluster)
    make = lambda part: pd.DataFrame(rows(part, n_rows // n_parts, n_columns))
    held = client.persist([dask.delayed(make)(part) for part in range(n_parts)])
    empty = [dask.delayed(pd.DataFrame)(rows(0, 0, n_columns)) for _ in range(n_parts)]

    def run_on(parts):
        def run(task):
            plan = dask.delayed(task)
            return client.compute(dask.delayed(_merge)([dask.delayed(_observe)(plan, part) for part in parts])).result()

        return run

    return run_on(held), run_on(empty), lambda: (client.close(), cluster.close())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=["spark", "dask"])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    from latentree import LatentTree

    best = {}
    for n_workers in map(int, given.workers.split(",")):
        make = spark_runner if given.engine == "spark" else dask_runner
        run, run_empty, stop = make(n_workers, given.parts, given.rows, given.columns)
        sizes, tasks = {}, {}

        def timed(task):
            begun = time.perf_counter()
            answer = run(task)
            name = next((it for it in ("pair-moments", "expected-counts") if it.encode() in task[-len(task) :]), "other")
            tasks[name], sizes[name] = task, (len(task), len(answer))
            times.setdefault(name, []).append(time.perf_counter() - begun)
            return answer

        times = {}
        LatentTree(structure="clnj", em_iterations=given.repeats).fit_passes(timed, sample_bytes=0)
        begun = time.perf_counter()
        run_empty(tasks["expected-counts"])
        best[n_workers] = {name: min(values) for name, values in times.items()} | {"empty": time.perf_counter() - begun}
        for name, seconds in best[n_workers].items():
            print(f"{given.engine} workers={n_workers} {name:16} {seconds:8.2f} s  bytes out and back {sizes.get(name, '')}", flush=True)
        stop()
    if {1, 2} <= set(best):
        for name in ("pair-moments", "expected-counts"):
            print(f"{given.engine} {name}: {best[1][name] / best[2][name]:.2f} times as fast with two workers")


if __name__ == "__main__":
    main()
