#!/usr/bin/env python3
"""Write THIRD-PARTY-LICENSES: the licenses of the crates that are linked into codiag.

    tools/third_party_licenses.py            # write the file
    tools/third_party_licenses.py --check    # fail if it is out of date

The texts come from the sources of the crates in Cargo.lock, which cargo downloads if needed.
Where a crate can be used under several licenses, MIT is chosen. Texts that differ only in their
copyright lines are printed once.
"""

import argparse
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "THIRD-PARTY-LICENSES"
PACKAGES = ("codiag-python", "codiag-c", "codiag-cli")
# Targets of the released packages.
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
)
HEADER = """\
Licenses of third-party software in codiag

The Python wheels, the C library and the program codiag are each linked with some or all of the
crates listed here. tools/third_party_licenses.py writes this file: do not edit it.
"""
# The chosen license where a crate offers several, in order of preference.
CHOICES = ("MIT", "BSD-3-Clause", "BSL-1.0", "Apache-2.0")
# Parts of the names of license files, with the license that such a file contains.
ALTERNATIVES = {
    "apache": "Apache-2.0",
    "unlicense": "Unlicense",
    "zlib": "Zlib",
    "bsl": "BSL-1.0",
    "boost": "BSL-1.0",
    "lgpl": "LGPL-2.1-or-later",
    "mit": "MIT",
}
MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
TITLE = re.compile(
    r"(the )?mit licen[cs]e( \(mit\))?\.?|\(the mit license\)|copyright \(c\) .*license.*|=+|-+",
    re.I,
)
# "Copyright 2017 Someone", but not the template "Copyright [yyyy] [name of copyright owner]".
COPYRIGHT = re.compile(
    r"\W*(portions )?copyright\b(?! notice| holder| owner| license)(?!.*\[)", re.I
)


def cargo(*arguments):
    """Return the standard output of cargo."""
    command = ["cargo", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout


def linked_crates():
    """Return names and versions of the linked crates, without those of the workspace."""
    crates = set()
    for target in TARGETS:
        arguments = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
        packages = [word for name in PACKAGES for word in ("--package", name)]
        for line in cargo("tree", "--locked", "--target", target, *packages, *arguments).split(
            "\n"
        ):
            words = line.split()
            if len(words) > 1 and not words[0].startswith("codiag"):
                crates.add((words[0], words[1].removeprefix("v")))
    return sorted(crates)


def applicable_licenses(expression):
    """Return the applicable licenses of an SPDX expression, one of each group of alternatives."""
    out = []
    for part in re.sub(r"[()]", "", expression.replace("/", " OR ")).split(" AND "):
        offered = [name.strip() for name in part.split(" OR ")]
        out.append(next((name for name in CHOICES if name in offered), offered[0]))
    return out


def license_files(folder, expression):
    """Return the paths of the files with the applicable licenses."""
    pattern = r"(licen[cs]e|copying|unlicense|notice|copyright)"
    # Fonts and other assets have separate licenses.
    paths = [*folder.iterdir(), *folder.glob("assets/**/*")]
    files = sorted(p for p in paths if p.is_file() and re.match(pattern, p.name, re.I))
    applied = applicable_licenses(expression)

    def applies(path):
        named = {name for part, name in ALTERNATIVES.items() if part in path.name.lower()}
        return not named or bool(named.intersection(applied))

    return [path for path in files if applies(path)]


def split_license(text):
    """Split a license into its copyright lines and its remaining text without title."""
    lines = [line.strip() for line in text.lstrip("\ufeff").replace("\r\n", "\n").split("\n")]
    # Copyright lines come before the terms; within the terms, sentences may begin like them.
    start = next((k for k, line in enumerate(lines) if len(line) > 60), len(lines))
    head = [line for line in lines[: start + 1] if line]
    notices = [line for line in head if COPYRIGHT.match(line) and "permission" not in line.lower()]
    kept = [
        line
        for k, line in enumerate(lines)
        if k > start or not (line in notices or TITLE.fullmatch(line))
    ]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return notices, body


def generate():
    """Return the content of the file."""
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1"))
    packages = {(p["name"], p["version"]): p for p in metadata["packages"]}
    # Maps the normalized text of a license to its text and to its crates with their notices.
    texts = {}

    def add(name, notices, body):
        key = re.sub(r"[\W_]+", " ", body).lower().strip()
        _, users = texts.setdefault(key, (body, {}))
        users.setdefault(name, []).extend(n for n in notices if n not in users.get(name, []))

    crates = linked_crates()
    for name, version in crates:
        package = packages[name, version]
        folder = Path(package["manifest_path"]).parent
        expression = package["license"] or ""
        is_mit = False
        for path in license_files(folder, expression):
            notices, body = split_license(path.read_text(encoding="utf-8", errors="replace"))
            is_mit = is_mit or "Permission is hereby granted, free of charge" in body
            add(f"{name} {version}", notices, body)
        if "MIT" in applicable_licenses(expression) and not is_mit:
            authors = [re.sub(r"\s*<.*>", "", author) for author in package["authors"]]
            holders = ", ".join(authors) or f"the authors of {name}"
            add(f"{name} {version}", [f"Copyright (c) {holders}"], MIT)
    add("the standard library of Rust", ["Copyright (c) The Rust Project Contributors"], MIT)

    out = [HEADER, "Crates:"]
    out += [f"  {n} {v}: {packages[n, v]['license']}" for n, v in crates]
    for body, users in sorted(texts.values(), key=lambda text: (-len(text[1]), text[0])):
        out += ["", "=" * 100]
        by_notice = {}
        for name, notices in sorted(users.items()):
            by_notice.setdefault(tuple(notices), []).append(name)
        for notices, names in sorted(by_notice.items(), key=lambda item: item[1]):
            out += textwrap.wrap(", ".join(names), 100, break_on_hyphens=False)
            out += [f"  {notice}" for notice in notices]
        out += ["", body]
    return "\n".join(out) + "\n"


def main():
    """Write the file, or check that it is up to date."""
    parser = argparse.ArgumentParser(description="Write or check THIRD-PARTY-LICENSES.")
    parser.add_argument("--check", action="store_true", help="fail if the file is out of date")
    arguments = parser.parse_args()
    text = generate()
    if not arguments.check:
        FILE.write_text(text, encoding="utf-8", newline="\n")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE.name} is out of date: run tools/third_party_licenses.py")


if __name__ == "__main__":
    main()
