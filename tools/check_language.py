"""Check that comments, documentation and messages are written in plain English.

Reports phrases that readers of this project have stumbled over, with what to write instead, and
comment lines of more than 100 columns. Run by ``make lint``:

    python tools/check_language.py [FILE ...]

Without arguments, all files that git tracks are checked. The exit code is 1 if anything is found.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MAX_COMMENT_COLUMNS = 100

# A pattern for each phrase, and what to write instead.
PHRASES = {
    r"\bso many\b": "as many as, this many, the number of",
    r"\banew\b": "again, re-",
    r"\bwhoever\b": "the caller, the user",
    r"\b(?:comes?|came|coming) again\b": "is reproducible, is found again",
    r"\bhow surely\b": "how reproducible",
    r"\b(?:told|tells?|telling)(?: \w+){0,3} apart\b": "separate, distinguish",
    r"\bas many as pay\b": "chosen automatically",
    r"\bis no (?:small|reason|concern)\b": "is not a ...",
    r"\bbut for\b": "except for",
    r"\bat worst\b": "maximum",
    r"\bthe middle one\b": "median",
    r"\bdrawn towards\b": "shrunk towards",
    r"\btaken off\b": "subtracted, removed",
    r"artefact": "artifact",
    r"\brivals?\b": "least separable partner",
    r"\bcomplaints?\b": "error message",
    r"\bin the same words\b": "say it again: every text is read alone",
    # At the beginning of a comment, a docstring or a description.
    r"(?:^\s*(?://[/!]?|#|%+|\*|/\*\*?|\"\"\"|\\item)|: )\s*(?-i:The same\b(?! as)|As above\b)": (
        "say what it is: every text is read alone"
    ),
}

COMPILED = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in PHRASES.items()]

# What begins a comment line, by the ending of the file.
COMMENTS = {
    ".rs": ("//",),
    ".py": ("#",),
    ".pyi": ("#",),
    ".c": ("//", "/*", "*"),
    ".h": ("//", "/*", "*"),
    ".cpp": ("//", "/*", "*"),
    ".R": ("#",),
    ".m": ("%", "#"),
    ".sh": ("#",),
    ".yml": ("#",),
    ".toml": ("#",),
}
PROSE = (".md", ".rst", ".Rd")
UNENDED = ("Makefile",)
# This file has the phrases; licenses are others' texts.
SKIPPED = ("tools/check_language.py", "python/tests/test_language.py", "THIRD-PARTY-LICENSES")


class Finding(NamedTuple):
    """A line to be rewritten."""

    line: int
    problem: str


def check(text: str, suffix: str) -> list[Finding]:
    """Return what is wrong with the text of a file whose name ends in `suffix`."""
    found = []
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, advice in COMPILED:
            if match := pattern.search(line):
                phrase = match.group().strip(' /!#%*":')
                found.append(Finding(number, f"{phrase!r}: write {advice!r}"))
        is_comment = line.lstrip().startswith(COMMENTS.get(suffix, ("#",))) and suffix not in PROSE
        content = line.lstrip(" /!#%*")
        if is_comment and content.startswith("```"):
            in_code = not in_code
        # Rows of tables and the code of examples cannot be wrapped.
        is_fixed = in_code or content.startswith("|")
        if is_comment and not is_fixed and len(line) > MAX_COMMENT_COLUMNS:
            problem = f"a comment of {len(line)} columns; at most {MAX_COMMENT_COLUMNS}"
            found.append(Finding(number, problem))
    return found


def is_checked(path: str) -> bool:
    """Tell whether a file holds prose or code of this project."""
    name = Path(path)
    known = name.suffix in COMMENTS or name.suffix in PROSE or name.name in UNENDED
    return known and path not in SKIPPED and not name.name.startswith("LICENSE")


def tracked() -> list[str]:
    """Return the files that git tracks."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).exists()]


def main() -> int:
    """Check the files, and print what is found."""
    parser = argparse.ArgumentParser(description="Check the language of comments and documents.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="all tracked files by default")
    files = parser.parse_args().files or [path for path in tracked() if is_checked(path)]
    count = 0
    for path in files:
        text = (ROOT / path).read_text(encoding="utf-8")
        for finding in check(text, Path(path).suffix):
            print(f"{path}:{finding.line}: {finding.problem}")
            count += 1
    if count:
        print(f"{count} lines to be rewritten", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
