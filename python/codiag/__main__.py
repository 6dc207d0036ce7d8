"""The command line program: ``codiag`` and ``python -m codiag``."""

from __future__ import annotations

import sys

from codiag import _core


def main() -> int:
    """Run the program on the arguments of this process and return its exit code."""
    return _core.program(["codiag", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
