import os
import signal
from pathlib import Path

import numpy as np
import pytest

import latentree

# Programs inherit ignored signals: SIGINT in a shell's background job, SIGHUP under nohup. Tests send both, so they must not be ignored
# here.
for name in ("SIGINT", "SIGHUP"):
    if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, name), lambda number, frame: None)


@pytest.fixture(scope="session")
def real_data():
    """The folder of public data sets; tests that need it are skipped where it is not."""
    given = os.environ.get("LATENTREE_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no data: set LATENTREE_DATA to their folder")
    return folder


def draw(n_rows=1500, n_groups=2, n_items=4, keep=0.85, seed=0):
    """Groups of binary items that share a hidden cause; causes agree with each other in 70 of 100 rows."""
    rng = np.random.default_rng(seed)
    first = rng.integers(2, size=n_rows)
    columns, causes = [], []
    for _ in range(n_groups):
        cause = np.where(rng.random(n_rows) < 0.7, first, 1 - first)
        causes.append(cause)
        columns += [np.where(rng.random(n_rows) < keep, cause, 1 - cause) for _ in range(n_items)]
    return np.column_stack(columns), np.column_stack(causes)


@pytest.fixture(scope="session")
def answers():
    return draw()[0]


@pytest.fixture(scope="session")
def fitted(answers):
    return latentree.LatentTree().fit(answers)
