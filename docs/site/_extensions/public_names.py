"""Check that the reference of the Python package lists every public name, and nothing else."""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

import codiag
import codiag.compat
import codiag.dask

MODULES = ("compat", "compat.pyriemann", "dask", "datasets")


def public_names():
    """Return the public names, without ``codiag.``."""
    names = {name for name in codiag.__all__ if name not in MODULES and name != "__version__"}
    for path in MODULES:
        module = codiag
        for part in path.split("."):
            module = getattr(module, part)
        names |= {f"{path}.{name}" for name in module.__all__ if name != "__version__"}
    return names - set(MODULES)


def check(app):
    """Stop the build if a public name is missing from the reference."""
    text = (Path(app.srcdir) / "site" / "reference.rst").read_text(encoding="utf-8")
    lists = re.findall(r"\.\. autosummary::\n   :toctree: \w+\n\n((?:   \S+\n)+)", text)
    listed = [name for names in lists for name in names.split()]
    public = public_names()
    problems = [f"{name} is not listed" for name in sorted(public - set(listed))]
    problems += [f"{name} is not public" for name in sorted(set(listed) - public)]
    problems += [
        f"{name} is listed twice" for name in sorted(set(listed)) if listed.count(name) > 1
    ]
    if problems:
        raise ExtensionError(f"site/reference.rst: {', '.join(problems)}")


def setup(app):
    """Run the check before the pages are read."""
    app.connect("builder-inited", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
