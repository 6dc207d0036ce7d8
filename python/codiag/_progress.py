"""Progress of a solve: a live line on a terminal or in a notebook, one plain line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ._result import Record, Result

_SECONDS_BETWEEN = 0.1


def _in_notebook() -> bool:
    # A notebook has imported IPython already; importing it here would be slow.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """Progress display on a stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        notebook = _in_notebook()
        self.stream = stream or (sys.stdout if notebook else sys.stderr)
        self.live = notebook or self.stream.isatty()
        self.shown = -_SECONDS_BETWEEN
        self.width = 0
        self.text = "codiag: checking the matrices"

    def show(self, record: Record) -> None:
        """Show a record, unless another was shown less than 0.1 s ago."""
        now = time.monotonic()
        if self.live and now - self.shown >= _SECONDS_BETWEEN:
            self.shown = now
            start = f"start {record.start}, " if record.start else ""
            where = "" if record.stage == "full" else f"{record.stage}, "
            if record.start and record.stage == "sample":
                start, where = f"trial {record.start}, ", ""
            self.text = (
                f"codiag: {start}{where}iteration {record.iteration}, loss {record.loss:.6g}, "
                f"gradient {record.gradient_norm:.1e}, {record.seconds:.1f} s"
            )
            self._line(self.text)

    def reading(self, done: int, total: int, seconds: float) -> None:
        """Show the progress of a data pass over a file."""
        now = time.monotonic()
        if self.live and total > 0 and now - self.shown >= _SECONDS_BETWEEN:
            self.shown = now
            left = f", {seconds * (total / done - 1):.0f} s left of this data pass" if done else ""
            self._line(f"{self.text}; {done / 1e9:.2f} of {total / 1e9:.2f} GB read{left}")

    def end(self, result: Result) -> None:
        """Show the status on a line of its own."""
        self._line(
            f"codiag: {result.status} after {result.n_iter} iterations, loss {result.loss:.6g}, "
            f"gradient {result.gradient_norm:.1e}, {result.history['seconds'][-1]:.3g} s"
        )
        self.stream.write("\n")
        self.stream.flush()

    def interrupted(self) -> None:
        """End the line, so that later output begins on a new one."""
        if self.width:
            self.stream.write("\n")
            self.stream.flush()

    def _line(self, text: str) -> None:
        # Blanks overwrite the rest of a longer previous line.
        start = "\r" if self.live else ""
        padding = " " * max(0, self.width - len(text)) if self.live else ""
        self.stream.write(start + text + padding)
        self.stream.flush()
        self.width = len(text)
