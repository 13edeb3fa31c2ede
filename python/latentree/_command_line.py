"""The command that comes with the package."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ._latentree import run_command_line

STOPPED = 130


def _stop(number: int, _frame: object) -> None:
    """Ends the command without its outputs, unlike Ctrl-C, which ends a search with its best model."""
    raise SystemExit(128 + number)


@contextmanager
def _signals_that_stop() -> Iterator[None]:
    """Catches the signals that end the command. What the process was started with ignored stays ignored."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        signals = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        # None: a handler that Python did not install and could not put back.
        before = {it: signal.getsignal(it) for it in signals if signal.getsignal(it) not in (signal.SIG_IGN, None)}
    try:
        for it in before:
            signal.signal(it, signal.default_int_handler if it == signal.SIGINT else _stop)
        yield
    finally:
        for it, handler in before.items():
            signal.signal(it, handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, by default those of the process, and returns its exit status."""
    try:
        with _signals_that_stop():
            return run_command_line(list(sys.argv[1:] if arguments is None else arguments))
    except (KeyboardInterrupt, SystemExit):
        return STOPPED
