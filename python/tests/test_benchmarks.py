"""The tables of docs/benchmarks.md and docs/performance.md are generated from results.json."""

import importlib.util
import json

import pytest


@pytest.fixture(scope="module")
def table(root):
    path = root / "benchmarks" / "table.py"
    if not path.exists():
        pytest.skip("the benchmarks are not available")
    spec = importlib.util.spec_from_file_location("benchmark_table", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def results(root):
    results = json.loads((root / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    if "seeds" not in results:
        pytest.skip(
            "results.json is older than the tables: run `make bench` and `benchmarks/run table`"
        )
    return results


@pytest.mark.parametrize("page", ["docs/benchmarks.md", "docs/performance.md"])
def test_tables_match_the_results(root, table, results, page):
    """If this fails, run `benchmarks/run table` to regenerate the tables."""
    text = (root / page).read_text(encoding="utf-8")
    assert table.with_tables(text, table.PAGES[page](results)) == text


def test_changed_result_changes_the_table(root, table, results):
    text = (root / "docs/benchmarks.md").read_text(encoding="utf-8")
    for row in results["experiments"].values():
        for columns in row["solvers"].values():
            columns["seconds"] = [2 * x for x in columns.get("seconds", [])]
    assert table.with_tables(text, table.readme(results)) != text


def test_all_solvers_ran_on_equal_seeds(table, results):
    rows = [*results["experiments"].values(), *results["grid"]]
    synthetic = [row for row in rows if row["kind"] == "synthetic"]
    assert results["seeds"] == 10 and len(synthetic) > 20
    full = 0
    for row in synthetic:
        for columns in row["solvers"].values():
            if "limit" not in columns:
                counts = {len(column) for column in columns.values()}
                assert len(counts) == 1 and counts <= set(range(1, 11))
                full += counts == {10}
    assert full > len(synthetic)


def test_number_format(table):
    assert [table.duration(x) for x in (0.1234, 0.00985, 41.0e-6, 2.0)] == [
        "123 ms",
        "9.8 ms",
        "41 µs",
        "2 s",
    ]
    assert table.spread([0.01, 0.012, 0.011], table.duration) == "11 ms (10–12)"
    assert table.spread([0.01, 1.2, 0.011], table.duration) == "11 ms (10 ms–1.2 s)"
    assert table.spread([4.0, 17.4, 50.0], table.times) == "17× (4–50)"
    assert table.spread([17.4], table.times) == "17×"
