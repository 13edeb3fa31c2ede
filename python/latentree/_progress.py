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


class Progress:
    """Called with a stage, the number of finished steps and their total, if known; cleared at the end."""

    def __init__(self, delay: float = 1.0) -> None:
        self._delay = delay
        self._begun = time.monotonic()
        self._handle = None
        self._width = 0
        self._notebook = _in_notebook()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        seconds = time.monotonic() - self._begun
        if seconds < self._delay or not stage:
            return
        share = min(done / total, 1.0) if total else None
        if self._notebook:
            self._show_html(stage, share, seconds)
        else:
            self._show_text(stage, share, seconds)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(""))
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def _show_text(self, stage: str, share: float | None, seconds: float) -> None:
        bar = "" if share is None else f" [{'#' * int(20 * share):20}] {100 * share:3.0f}%"
        line = f"latentree: {stage}{bar} {seconds:.0f}s"[:100]
        # A file gets no line over another.
        if getattr(sys.stderr, "isatty", lambda: False)():
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = max(self._width, len(line))

    def _show_html(self, stage: str, share: float | None, seconds: float) -> None:
        from IPython.display import HTML, display

        value = "" if share is None else f' value="{share:.3f}"'
        content = HTML(f"latentree: {html.escape(stage)} <progress{value}></progress> {seconds:.0f}s")
        if self._handle is None:
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)
