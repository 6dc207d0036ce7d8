"""codiag.Result: saving, representation, plots, transform."""

import copy
import pickle
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import codiag


@pytest.fixture(scope="module")
def result(noisy):
    return codiag.diagonalize(noisy)


def same(one, other):
    for name in ("B", "A", "residuals", "powers", "start_losses"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("converged", "status", "n_iter", "loss", "gradient_norm", "condition_number"):
        assert getattr(one, name) == getattr(other, name)
        assert type(getattr(one, name)) is type(getattr(other, name))
    assert one.identifiability == other.identifiability
    assert list(one.history) == list(other.history)
    for name, column in one.history.items():
        np.testing.assert_array_equal(column, other.history[name])
        assert column.dtype == other.history[name].dtype


def test_save_and_load(result, tmp_path):
    path = tmp_path / "result.npz"
    path.write_text("something old")
    result.save(path)
    same(codiag.load(path), result)
    same(codiag.load(str(path)), result)
    assert [p.name for p in tmp_path.iterdir()] == ["result.npz"]
    with np.load(path, allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["B"], result.B)


def test_file_name_is_kept(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result.save("solved")
    same(codiag.load("solved"), result)


def test_single_component_is_saved_too(tmp_path):
    result = codiag.diagonalize([[[2.0]], [[3.0]]])
    result.save(tmp_path / "one")
    assert codiag.load(tmp_path / "one").identifiability is None


def test_a_failed_save_leaves_nothing(result, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inside").write_text("")
    with pytest.raises(OSError):
        result.save(folder)
    with pytest.raises(OSError):
        result.save(tmp_path / "nowhere" / "result.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_loading_other_files_raises(tmp_path):
    np.savez(tmp_path / "other.npz", B=np.eye(2))
    np.save(tmp_path / "array.npy", np.eye(2))
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_text("")
    for name in ("other.npz", "array.npy", "text", "empty"):
        with pytest.raises(ValueError, match="not a codiag result"):
            codiag.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        codiag.load(tmp_path / "missing")


def test_no_pickles_are_loaded(tmp_path):
    np.savez(tmp_path / "evil.npz", codiag_result=1, B=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="not a codiag result"):
        codiag.load(tmp_path / "evil.npz")


def test_pickle(result):
    same(pickle.loads(pickle.dumps(result)), result)


def test_attributes_are_computed_lazily(noisy):
    fresh = codiag.diagonalize(noisy)
    assert "powers" not in vars(fresh) and "history" not in vars(fresh)
    # Computed once, without a copy that would double the memory.
    for name in ("A", "residuals", "powers", "start_losses", "identifiability", "history"):
        assert getattr(fresh, name) is getattr(fresh, name)
    assert fresh.powers.flags.writeable and fresh.B.flags.writeable
    with pytest.raises(AttributeError, match="no attribute 'power'"):
        fresh.power  # noqa: B018
    assert not hasattr(fresh, "_something")
    for copied in (copy.copy, copy.deepcopy):
        untouched = codiag.diagonalize(noisy)
        same_but_for_time(copied(untouched), fresh)


def same_but_for_time(one, other):
    for each in (one, other):
        each.history["seconds"][:] = 0
    same(one, other)


def test_frozen(result):
    with pytest.raises(AttributeError):
        result.B = np.eye(6)


def test_repr(result):
    text = repr(result)
    assert "converged after" in text and "40 of 6 x 6" in text and len(text.splitlines()) == 6
    reduced = codiag.diagonalize(codiag.datasets.synthetic(30, 5)[0], n_components=3)
    assert "reduced to rank 3" in repr(reduced)


def test_html(result):
    html = result._repr_html_()
    tree = ElementTree.fromstring(html)
    svg = tree.find("svg")
    points = svg.find("polyline").attrib["points"].split()
    assert len(points) == result.n_iter + 1
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    for point in points:
        x, y = map(float, point.split(","))
        assert 0 <= x <= width and 0 <= y <= height
    cells = [cell.text for cell in tree.iter("td")]
    assert cells[0] == "converged" and str(result.n_iter) in cells


def test_html_without_iterations():
    start_only = codiag.diagonalize([[[2.0]], [[3.0]]])
    ElementTree.fromstring(start_only._repr_html_())


def test_plot(result):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = result.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), result.history["gradient_norm"])
    assert ax.get_yscale() == "log" and ax.get_xlabel() == "iteration"
    _, given = plt.subplots()
    assert result.plot(ax=given) is given
    plt.close("all")


def test_transform(result, noisy):
    np.testing.assert_allclose(result.transform(noisy[3]), result.B @ noisy[3] @ result.B.T)
    assert result.transform(noisy.reshape(4, 10, 6, 6)).shape == (4, 10, 6, 6)
    with pytest.raises(ValueError, match=r"\(\.\.\., 6, 6\), got shape \(5, 5\)"):
        result.transform(np.eye(5))
