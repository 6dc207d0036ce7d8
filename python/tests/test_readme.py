"""What the README shows runs as it is shown."""

import re

import pytest


def test_python_blocks_run_in_order(root, tmp_path, monkeypatch):
    readme = root / "README.md"
    if not readme.exists():
        pytest.skip("there is no README.md here")
    monkeypatch.chdir(tmp_path)
    text = readme.read_text(encoding="utf-8")
    scope = {"__name__": "readme"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert blocks
    for block in blocks:
        # Blank lines in front make the line numbers of errors those of the README.
        before = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(before + block.group(1), str(readme), "exec"), scope)
