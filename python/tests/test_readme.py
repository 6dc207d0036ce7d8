"""What the README and the pages in docs/ show runs as it is shown, and comes out as they say."""

import re

import pytest


@pytest.fixture
def run(root, tmp_path, monkeypatch):
    """Run the Python blocks of a page in order; return the names they leave behind."""

    def run(page):
        path = root / page
        if not path.exists():
            pytest.skip(f"there is no {page} here")
        monkeypatch.chdir(tmp_path)
        text = path.read_text(encoding="utf-8")
        scope = {"__name__": "page"}
        blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        assert blocks
        for block in blocks:
            # Blank lines in front make the line numbers of errors those of the page.
            before = "\n" * text.count("\n", 0, block.start(1))
            exec(compile(before + block.group(1), str(path), "exec"), scope)
        return scope

    return run


def test_readme(run):
    run("README.md")


def test_tracking(run):
    page = run("docs/tracking.md")
    assert max(page["tracked"][100:]) < 0.05 and 0.18 < min(page["fixed"][100:])
