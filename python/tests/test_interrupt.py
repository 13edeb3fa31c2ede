"""Ctrl-C stops work within a second, and the interpreter is free while it lasts."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from latentree import LatentTree

SCRIPT = """
import signal, sys, time
import numpy as np
from latentree import LatentTree
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
cause = rng.integers(2, size=(4000, 1))
rows = np.where(rng.random((4000, 400)) < 0.6, cause, 1 - cause)
tree = LatentTree(em_tolerance=0.0, em_iterations=100000, **{options})
print("ready", flush=True)
try:
    tree.fit(rows)
except KeyboardInterrupt:
    print("stopped", time.time(), hasattr(tree, "model_"), flush=True)
    LatentTree(structure="chow-liu").fit(rows[:100, :5])
    print("alive", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("options", "after"), [({"structure": "chow-liu"}, 0.3), ({"structure": "chow-liu"}, 2.5), ({}, 1.0)])
def test_ctrl_c_is_honoured_within_a_second(options, after):
    script = SCRIPT.replace("{options}", repr(options))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(after)
        if child.poll() is not None:
            pytest.skip("the work was over too soon")
        sent = time.time()
        child.send_signal(signal.SIGINT)
        word, stopped, was_fitted = child.stdout.readline().split()
        assert word == "stopped" and was_fitted == "False"
        assert float(stopped) - sent < 1.0
        assert child.stdout.readline() == "alive\n"


def test_other_threads_run_while_fitting():
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(3000, 60))
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.monotonic()
    LatentTree(n_states=3).fit(rows)
    took = time.monotonic() - begun
    over.set()
    thread.join()
    gaps = np.diff([begun, *[it for it in ticks if it < begun + took], begun + took])
    assert gaps.max() < max(0.5, took / 2)


def test_a_failing_progress_display_stops_the_work():
    from latentree import _latentree
    from latentree._data import read

    rows = np.random.default_rng(0).integers(2, size=(3000, 80))
    options = {"em_tolerance": 0.0, "em_iterations": 100000, "n_states": 3}

    def display(stage, done, total, step):
        raise RuntimeError("no screen")

    with pytest.raises(RuntimeError, match="no screen"):
        _latentree.learn(read(rows).table([]), options, None, 0, display)
