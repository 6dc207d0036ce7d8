"""Write the parts of the site that the program prints or computes.

``site/generated/command-line.inc`` is the reference of all commands, made from their ``--help``.
``site/generated/reproduction/`` is what ``codiag reproduce`` writes.
"""

import re
import subprocess
import sys
from pathlib import Path

from sphinx.errors import ExtensionError

import codiag

# Headings of the help; what follows the colon begins a paragraph.
HEADING = re.compile(
    r"(Examples?|Files written to \w+|Fields of [^:]+|Exit codes|File formats):(.*)"
)
ANCHORS = {"Example": "examples", "Files written to DIR": "files", "Exit codes": "exit-codes"}
# Options of all commands, which the section about the program describes.
COMMON = ("-q, --quiet", "-h, --help", "-V, --version")
# Code in a sentence: quoted text, options, file names and names with underscores.
CODE = re.compile(
    r"(`[^`]+`|(?<![\w-])--[a-z]+(?:-[a-z]+)*|\b\w+\.(?:json|npy|csv|html|svg)\b|\b\w+_\w+\b)"
)
# An indented entry: a name, two spaces, and a description, which may be missing.
ENTRY = re.compile(r"(?P<indent> +)(?P<name>\S+(?: \S+)*)(?:  +(?P<text>.*))?")


def run(*arguments):
    """Return the output of the program."""
    command = [sys.executable, "-m", "codiag", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ExtensionError(f"{' '.join(command)} failed: {done.stderr}")
    return done.stdout


def escaped(text):
    """Return text with the characters escaped that have a meaning in reStructuredText."""
    parts = CODE.split(text)  # every second part is code
    return "".join(
        f"``{part.strip('`')}``\\ " if k % 2 else re.sub(r"([\\*`_|<])", r"\\\1", part)
        for k, part in enumerate(parts)
    )


def entries(lines):
    """Return pairs of names and descriptions; indented lines continue a description."""
    found = []
    first = len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        matched = ENTRY.fullmatch(line)
        depth = len(matched["indent"])
        if found and (depth > first + 4 or (found[-1][0].endswith(",") and not found[-1][1])):
            if depth > first + 4:
                found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
            else:
                found[-1] = [f"{found[-1][0]} {matched['name']}", matched["text"] or ""]
        else:
            found.append([matched["name"], matched["text"] or ""])
    return found


def options(lines):
    """Return pairs of options and descriptions."""
    found = []
    for line in lines:
        # Long options without a short one are indented by six columns, descriptions by more.
        matched = re.fullmatch(r" {2,6}(-\S.*?|<\S+)(?:  +(.*))?", line)
        if matched:
            found.append([matched[1], matched[2] or ""])
        else:
            found[-1][1] += " " + line.strip()
    return found


def names(text):
    """Return names of files or fields as code, with remarks in parentheses as text."""
    if not re.fullmatch(r"[\w.,() ;]+", text):
        return escaped(text)
    parts = re.split(r"( \([^)]*\)|, | and )", text)
    return "".join(f"``{p}``" if re.fullmatch(r"[\w.]+", p) else escaped(p) for p in parts)


def described(text):
    """Return the lines of the description of an option, with its default and its values."""
    sentences = []
    for name, label in (("default", "Default"), ("possible values", "Values")):
        matched = re.search(rf" ?\[{name}: ([^\]]+)\]", text)
        if matched:
            text = text.replace(matched[0], "")
            sentences.append(f"{label}: " + ", ".join(f"``{v}``" for v in matched[1].split(", ")))
    return [f"   {escaped(text)}", "", *([f"   {'. '.join(sentences)}.", ""] if sentences else [])]


def indented(lines):
    """Return a literal block."""
    return [f"   {line}" for line in lines]


def example(line):
    """Return a line of examples whose description is a comment."""
    if "#" not in line:
        line = re.sub(r"(?<=\S)( {3,})(?=\S)", r"\1# ", line, count=1)
    return line[2:]


def exit_codes(text):
    """Return pairs of codes and meanings."""
    return re.findall(r"(\d+) ([^,]+?)(?:, |\.$)", text)


def bullets(pairs):
    """Return a list with one item per entry."""
    return [f"- {names(name)}" + (f": {escaped(text)}" if text else "") for name, text in pairs]


def section(command, text):
    """Return the section about one command."""
    title = f"codiag {command}" if command else "codiag"
    anchor = title.replace(" ", "-")
    out = [title, "-" * len(title), ""]
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        head, *lines = block.splitlines()
        heading = HEADING.fullmatch(head)
        if head.startswith("Usage:"):
            out += [".. code-block:: text", "", *indented([head.removeprefix("Usage:").strip()])]
        elif head in ("Arguments:", "Options:"):
            out += [f".. program:: {title}", ""]
            for name, description in options(lines):
                if not command or name not in COMMON:
                    out += [f".. option:: {name}", "", *described(description)]
        elif head == "Commands:":
            for name, description in entries(lines):
                out.append(f"- `codiag {name}`_: {escaped(description)}")
        elif heading:
            name, rest = heading[1], heading[2].strip()
            label = ANCHORS.get(name) or re.sub(r"\W+", "-", name.lower())
            out += [f".. _{anchor}-{label}:", "", name, "^" * len(name), ""]
            if name.startswith("Example"):
                out += [".. code-block:: sh", "", *indented(map(example, lines))]
            elif lines and lines[0].startswith(" "):
                out += [f"{escaped(rest[:1].upper() + rest[1:])}:", ""] if rest else []
                out += bullets(entries(lines))
            elif name == "Exit codes":
                out += bullets(exit_codes(" ".join([rest, *lines])))
            else:
                paragraph = " ".join([rest, *lines])
                out.append(escaped(paragraph[:1].upper() + paragraph[1:]))
        elif lines and lines[0].startswith(" "):
            out += [escaped(head), "", *bullets(entries(lines))]
        else:
            out.append(escaped(" ".join([head, *lines])))
        out.append("")
    return out


def commands(text):
    """Return the names of the commands that the help lists."""
    block = re.search(r"^Commands:\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^  (\w+)", block, re.MULTILINE)


def write(app):
    """Write the reference of the commands, and reproduce the paper's experiments."""
    folder = Path(app.srcdir) / "site" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    main = run("--help")
    lines = section("", main)
    for command in commands(main):
        lines += section(command, run(command, "--help"))
    text = "\n".join(lines)
    path = folder / "command-line.inc"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    reproduction = folder / "reproduction"
    program = Path(codiag._core.__file__)
    figure = reproduction / "figure.svg"
    if not figure.exists() or figure.stat().st_mtime < program.stat().st_mtime:
        run("reproduce", "--quiet", "--output", str(reproduction))


def setup(app):
    """Run the program before the pages are read."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
