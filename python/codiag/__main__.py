"""The command line program: ``codiag`` and ``python -m codiag``."""

from __future__ import annotations

import sys

from codiag import _core


def main() -> int:
    """Run the program on the arguments of this process and return its exit code."""
    arguments = ["codiag", *sys.argv[1:]]
    # Standard output is None if it was closed before Python started.
    closed = sys.__stdout__ is None
    if "separate" not in arguments:
        return _core.program(arguments, closed)
    from codiag import _recordings

    which = _recordings.recording_among(arguments)
    if which is None:
        return _core.program(arguments, closed)
    try:
        with _recordings.converted(arguments, which) as (own, finish):
            code = _core.program(own, closed)
            # Exit code 1: the solve did not converge, but its result was written.
            if code in (0, 1):
                finish()
            return code
    except (ValueError, OSError, RuntimeError) as problem:
        return _recordings.print_error(arguments[which], problem)


if __name__ == "__main__":
    sys.exit(main())
