"""A progress bar for the terminal and the notebook, shown once a step takes more than a second."""

from __future__ import annotations

import html
import sys
import time


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    try:
        return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
    except Exception:
        return False


def _remaining(share: float | None, seconds: float) -> str | None:
    """The time that a stage still takes if it continues as so far, rounded to what is known of it."""
    if not share or seconds < 2.0:
        return None
    left = seconds * (1.0 - share) / share
    if left < 5.0:
        return "a few seconds"
    if left < 55.0:
        return f"about {5 * round(left / 5)} s"
    return f"about {round(left / 60)} min" if left < 3570.0 else f"about {left / 3600:.1f} h"


class Progress:
    """Called with a stage, the units done, their total, if known, and a step in words; cleared at the end."""

    def __init__(self, delay: float = 1.0) -> None:
        self._delay = delay
        self._begun = time.monotonic()
        self._stage = ("", self._begun)
        self._handle = None
        self._width = 0
        self._notebook = _in_notebook()

    def __call__(self, stage: str, done: int, total: int | None, step: str = "") -> None:
        now = time.monotonic()
        seconds = now - self._begun
        if stage != self._stage[0]:
            self._stage = (stage, now)
        if seconds < self._delay or not stage:
            return
        share = min(done / total, 1.0) if total else None
        left = _remaining(share, now - self._stage[1])
        time_and_step = (f"{left} left" if left else f"{seconds:.0f} s") + (f"; {step}" if step else "")
        if self._notebook:
            self._show_html(stage, share, time_and_step)
        else:
            self._show_text(stage, share, time_and_step)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(""))
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def _show_text(self, stage: str, share: float | None, rest: str) -> None:
        bar = "" if share is None else f" [{'#' * int(20 * share):20}] {100 * share:3.0f}%"
        line = f"latentree: {stage}{bar} {rest}"[:100]
        # A file gets no line over another.
        if getattr(sys.stderr, "isatty", lambda: False)():
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = max(self._width, len(line))

    def _show_html(self, stage: str, share: float | None, rest: str) -> None:
        from IPython.display import HTML, display

        value = "" if share is None else f' value="{share:.3f}"'
        content = HTML(f"latentree: {html.escape(stage)} <progress{value}></progress> {html.escape(rest)}")
        if self._handle is None:
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)
