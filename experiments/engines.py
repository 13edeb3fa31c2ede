"""Two workers against one on Spark and Dask: pair moments and an EM pass, and what a pass costs without rows.

Usage: python experiments/engines.py spark|dask [--rows N] [--columns P] [--workers 1,2] [--repeats R]

It needs the environment of the engine tests (target/venv-engines). Rows are made where they are needed, so no file is read: a row is a hidden state and
noise. Each worker is bound to a core. Seconds are the best of the repeats. Beside them are processor seconds of the busiest worker, with all of its
processes, and of the driver: on a machine that does other work, too, their sum is what a pass would take.
"""

import argparse
import os
import sys
import time

import numpy as np
import pyarrow as pa

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def processes():
    """Ticks of processor of each process, children that have ended included, and the processes below each."""
    ticks, below = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks[int(entry)] = sum(map(int, fields[11:15]))
        below.setdefault(int(fields[1]), []).append(int(entry))
    return ticks, below


def with_all_below(pids, below):
    found = list(pids)
    for pid in found:
        found += below.get(pid, [])
    return found


def seconds_of(pids):
    """Processor seconds of processes and of all below them."""
    ticks, below = processes()
    return sum(ticks.get(pid, 0) for pid in with_all_below(pids, below)) / os.sysconf("SC_CLK_TCK")


def bind(pids):
    """Binds each worker, with all of its processes and threads, to a core of its own, so that one worker does not use two."""
    below = processes()[1]
    cores = sorted(os.sched_getaffinity(0))
    for ix, pid in enumerate(pids):
        for process in with_all_below([pid], below):
            for thread in map(int, os.listdir(f"/proc/{process}/task")):
                os.sched_setaffinity(thread, {cores[ix % len(cores)]})


def executors():
    """The processes of the executors of this program's Spark, not of another one on the machine."""
    found = []
    for entry in with_all_below([os.getpid()], processes()[1]):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and command.split(b"\0")[0].endswith(b"java"):
            found.append(entry)
    return found


def rows(part, n_rows, n_columns):
    """Binary columns in groups of ten with a common cause."""
    rng = np.random.default_rng(part)
    causes = rng.integers(2, size=(n_rows, -(-n_columns // 10)), dtype=np.int8)
    return {f"x{ix}": causes[:, ix // 10] ^ (rng.random(n_rows) < 0.2).astype(np.int8) for ix in range(n_columns)}


def learner_tasks(n_columns):
    """The pass of pair moments and an EM pass, as learning from some rows asks for them."""
    from latentree import LatentTree
    from latentree.distributed import observe

    batch, tasks = pa.RecordBatch.from_pydict(rows(0, 20_000, n_columns)), {}

    def run(task):
        for name in ("pair-moments", "expected-counts"):
            if f"LTPASS1\n{chr(len(name))}{name}".encode() in task:
                tasks[name] = task
        return observe(task, [batch])

    LatentTree(structure="clnj", em_iterations=1).fit_passes(run, sample_bytes=0)
    return tasks


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
    df.count()
    return _runner(df), _runner(df.limit(0).repartition(n_parts)), executors(), session.stop


def dask_runner(n_workers, n_parts, n_rows, n_columns):
    import dask
    import pandas as pd
    from distributed import Client, LocalCluster, wait

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

    wait(held)
    workers = list(client.run(os.getpid).values())
    return run_on(held), run_on(empty), workers, lambda: (client.close(), cluster.close())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=["spark", "dask"])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    tasks = learner_tasks(given.columns)
    best = {}
    for n_workers in map(int, given.workers.split(",")):
        make = spark_runner if given.engine == "spark" else dask_runner
        run, run_empty, workers, stop = make(n_workers, given.parts, given.rows, given.columns)
        bind(workers)
        times, sizes = {}, {}

        def timed(name, run, task):
            before, own, begun = [seconds_of([pid]) for pid in workers], time.process_time(), time.perf_counter()
            answer = run(task)
            seconds, own = time.perf_counter() - begun, time.process_time() - own
            busiest = max(seconds_of([pid]) - earlier for pid, earlier in zip(workers, before))
            sizes[name] = (len(task), len(answer))
            times.setdefault(name, []).append((seconds, busiest + own))

        for _ in range(given.repeats):
            for name, task in tasks.items():
                timed(name, run, task)
            timed("empty", run_empty, tasks["expected-counts"])
        best[n_workers] = {name: tuple(map(min, zip(*values))) for name, values in times.items()}
        for name, (seconds, work) in best[n_workers].items():
            print(
                f"{given.engine} workers={n_workers} {name:16} {seconds:8.2f} s, busiest worker and driver {work:8.2f} s of processor, "
                f"bytes out and back {sizes[name]}, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        stop()
    if {1, 2} <= set(best):
        for name in tasks:
            ratios = [one / two for one, two in zip(best[1][name], best[2][name])]
            print(f"{given.engine} {name}: {ratios[0]:.2f} times as fast with two workers, {ratios[1]:.2f} by processor seconds")


if __name__ == "__main__":
    main()
