"""The package without its optional companions, and what it shows while it works."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from latentree import LatentTree
from latentree._progress import Progress

ALONE = """
import sys
for name in ("sklearn", "pandas", "polars", "pyarrow", "scipy", "networkx", "matplotlib"):
    sys.modules[name] = None
import copy, pickle
import numpy as np
from latentree import LatentTree, Moments, NotFittedError
rng = np.random.default_rng(0)
cause = rng.integers(2, size=(500, 1))
rows = np.where(rng.random((500, 5)) < 0.85, cause, 1 - cause)
tree = LatentTree(n_states=2)
try:
    tree.predict(rows)
    raise SystemExit("it was not fitted")
except NotFittedError:
    pass
assert tree.fit_transform(rows).shape == (500, 2)
assert tree.predict_proba(rows).shape == (500, 2) and tree.predict(rows).shape == (500,)
assert repr(tree) == "LatentTree(n_states=2)" and tree.get_params()["n_states"] == 2
assert LatentTree().set_params(n_states=3).n_states == 3
try:
    tree.set_params(colour=1)
    raise SystemExit("there is no such parameter")
except ValueError:
    pass
assert (pickle.loads(pickle.dumps(tree)).transform(rows) == copy.deepcopy(tree).transform(rows)).all()
assert Moments().update(rows).n_rows == 500
assert "h1" in tree._repr_html_()
try:
    tree.plot()
    raise SystemExit("there is no matplotlib")
except ImportError as error:
    assert "pip install matplotlib" in str(error)
"""


def test_numpy_is_all_that_is_needed():
    subprocess.run([sys.executable, "-c", ALONE], check=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_drawn_on_a_terminal_and_wiped_away(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(delay=0.0) as progress:
        progress("em", 25, 100)
        progress("em", 50, 100)
        progress("rows", 5, None)
    lines = terminal.getvalue().split("\r")
    assert "em [#####               ]  25%" in lines[1] and "50%" in lines[2] and "rows" in lines[3]
    assert lines[-1] == "" and lines[-2].strip() == ""


def test_a_bar_tells_the_remaining_time_and_the_step(monkeypatch):
    terminal, now = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("latentree._progress.time.monotonic", lambda: now[0])
    with Progress(delay=0.0) as progress:
        progress("rows", 0, None)
        now[0] = 100.0
        progress("search", 0, 8)
        now[0] = 110.0
        # A quarter of the stage took 10 seconds, so the rest takes 30.
        progress("search", 2, 8, "sweep 2")
    lines = terminal.getvalue().split("\r")
    assert "left" not in lines[2] and "25% about 30 s left; sweep 2" in lines[3]


def test_a_file_gets_no_bar(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with Progress(delay=0.0) as progress:
        progress("em", 25, 100)
    assert file.getvalue() == ""


def test_a_bar_shows_the_stages_of_the_work(monkeypatch):
    from latentree import _latentree
    from latentree._data import read

    stages = []
    rows = np.random.default_rng(0).integers(2, size=(3000, 60))
    _latentree.learn(read(rows).table([]), {"n_states": 3}, None, 1, lambda stage, done, total, step: stages.append(stage))
    # Whoever shows progress looks now and then: a short stage may be over before it is seen.
    assert "likelihood" in stages, stages
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    shown = LatentTree(verbose=True).fit(rows[:100, :4])
    assert shown.to_json() == LatentTree().fit(rows[:100, :4]).to_json()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_of_a_fork_can_fit_too():
    script = """
import os, sys
import numpy as np
from latentree import LatentTree
rows = np.random.default_rng(0).integers(2, size=(200, 4))
before = LatentTree(n_jobs=2).fit(rows).to_json()
child = os.fork()
if child == 0:
    os._exit(0 if LatentTree(n_jobs=2).fit(rows).to_json() == before else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)
