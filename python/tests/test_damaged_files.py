"""Damaged and foreign files raise a ValueError that names the file, with bounded memory."""

import io
import json
import pickle
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import codiag

pytest.importorskip("sklearn")

KINDS = [
    "result",
    "complex result",
    "SourceSeparation",
    "SOBI",
    "AMUSE",
    "JADE",
    "JointDiagonalizer",
    "CSP",
    "CSP of objects",
    "with channels",
]
# None of the files is larger than 100 kB.
MAX_BYTES = 64 << 20


@pytest.fixture(scope="module")
def recording():
    rng = np.random.default_rng(0)
    powers = np.repeat(rng.uniform(0.1, 3, (4, 50)), 100, axis=1)
    return rng.standard_normal((4, 4)) @ (powers * rng.standard_normal((4, 5000)))


@pytest.fixture(scope="module", params=KINDS)
def content(request, recording, epochs, tmp_path_factory):
    """Bytes of a file of each kind."""
    kind = request.param
    if "result" in kind:
        C, _ = codiag.datasets.synthetic(10, 3, random_state=1, complex=kind.startswith("complex"))
        saved = codiag.diagonalize(C, n_restarts=1, n_resamples=2)
    elif kind == "JointDiagonalizer":
        saved = codiag.JointDiagonalizer(window=5).fit(codiag.datasets.synthetic(10, 3)[0])
    elif kind.startswith("CSP"):
        X, labels = epochs
        y = [f"class {k}" for k in labels]
        saved = codiag.CSP(3).fit(X, np.array(y, dtype=object) if "objects" in kind else y)
    elif kind == "with channels":
        mne = pytest.importorskip("mne")
        info = mne.create_info(4, 100.0, "eeg")
        raw = mne.io.RawArray(1e-6 * recording, info, verbose="error")
        saved = codiag.SourceSeparation(3).fit(raw)
    elif kind == "SourceSeparation":
        saved = codiag.SourceSeparation(3, scale=[1.0, 2.0, 1.0, 1.0], n_resamples=2).fit(recording)
    elif kind == "SOBI":
        saved = codiag.SOBI(3, lags=np.array([1, 2])).fit(recording)
    elif kind == "AMUSE":
        saved = codiag.AMUSE().fit(recording)
    else:
        saved = codiag.JADE(3, init=np.eye(3, 4)).fit(recording)
    path = tmp_path_factory.mktemp("saved") / "saved.npz"
    saved.save(path)
    return path.read_bytes()


@pytest.fixture
def load(tmp_path):
    """Returns a function that loads bytes; None if loading raises the expected error."""
    path = tmp_path / "damaged.npz"

    def load(content):
        path.write_bytes(content)
        tracemalloc.start()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return codiag.load(path)
        except ValueError as problem:
            assert type(problem) is ValueError and "damaged.npz" in str(problem)
            assert len(str(problem)) < 1000
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < MAX_BYTES
        return None

    return load


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, method=zipfile.ZIP_STORED):
    """Returns the bytes of an archive of members, given as a dict or as pairs."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicate names
        with zipfile.ZipFile(file, "w", method) as archive:
            for name, content in members.items() if isinstance(members, dict) else members:
                archive.writestr(name, content)
    return file.getvalue()


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def with_header(description, data=b""):
    header = description.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def described(dtype, shape, order="False"):
    return f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}}}"


def of(content, name):
    """Returns the name of an array of the result in a file of any kind."""
    return f"{name}.npy" if f"{name}.npy" in members(content) else f"result_{name}.npy"


def changed(content, name, replacement):
    return packed({**members(content), name: replacement})


def test_truncated_anywhere(content, load):
    size = len(content)
    for length in {0, 1, 4, 30, *range(0, size, size // 20 + 1), *range(size - 22, size, 3)}:
        assert load(content[:length]) is None, length


def test_flipped_bits(content, load):
    rng = np.random.default_rng(0)
    places = [*rng.integers(0, len(content), 40), *range(len(content) - 70, len(content), 2)]
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        # Some bits, such as those of dates, do not affect the arrays.
        load(bytes(flipped))


def test_foreign_files(content, load):
    arrays = io.BytesIO()
    np.savez(arrays, x=np.zeros(3))
    for foreign in (
        b"",
        b"a letter",
        b"\x00" * 10_000,
        npy(np.eye(3)),
        pickle.dumps({"B": 1}),
        arrays.getvalue(),
        packed({}),
        packed({"codiag_result.npy": npy(1)}),
        packed({"codiag_model.npy": npy(1)}),
        packed({"codiag_result": b"1"}),
        content[:100] + content,
    ):
        load(foreign)
    assert load(arrays.getvalue()) is None
    assert load(content) is not None


def test_too_many_members(load):
    assert load(packed([(f"{k}.npy", b"") for k in range(10_001)])) is None


def test_missing_members(content, load):
    own = members(content)
    optional = ("history", "margin", "stability", "version", "criterion", "channel", "info")
    for name in own:
        rest = {other: data for other, data in own.items() if other != name}
        if not name.removeprefix("result_").startswith(optional):
            assert load(packed(rest)) is None, name


def test_duplicates_and_methods_of_archives(content, load):
    own = members(content)
    assert load(packed([*own.items(), (of(content, "B"), npy(np.eye(3)))])) is None
    assert load(packed(own, zipfile.ZIP_DEFLATED)) is not None
    assert load(packed(own, zipfile.ZIP_BZIP2)) is None
    assert load(packed(own, zipfile.ZIP_LZMA)) is None
    encrypted, place = bytearray(content), -1
    while (place := content.find(b"PK\x01\x02", place + 1)) >= 0:
        encrypted[place + 8] |= 1
    assert load(bytes(encrypted)) is None


def test_only_what_is_needed_is_unpacked(content, load):
    own = members(content)
    zeros = bytes(200 << 20)
    bomb = packed({**own, "more.npy": with_header(described("'<f8'", "(26214400,)"), zeros)}, 8)
    assert len(bomb) < 1 << 20 and load(bomb) is not None
    B = of(content, "B")
    assert load(packed({**own, B: own[B] + zeros}, zipfile.ZIP_DEFLATED)) is None
    wide = with_header(described("'<f8'", "(5120, 5120)"), zeros)
    assert load(packed({**own, B: wide}, zipfile.ZIP_DEFLATED)) is None
    # An archive whose directory lists more data than the file holds.
    for field in (20, 24):
        lying, place = bytearray(content), content.find(b"PK\x01\x02")
        while place >= 0:
            lying[place + field : place + field + 4] = struct.pack("<I", 0x7FFF_FFFF)
            place = content.find(b"PK\x01\x02", place + 1)
        assert load(bytes(lying)) is None


class Trap:
    """Object that must never be unpickled."""

    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_arrays_of_other_types_and_shapes(content, load):
    own = members(content)
    name = of(content, "B")
    B = np.load(io.BytesIO(own[name]))
    r, p = B.shape
    eight = described("'<f8'", f"({r}, {p})")
    damaged = [
        npy(np.array([[Trap()]], dtype=object), allow_pickle=True),
        npy(B.astype(str)),
        npy(B.astype("S8")),
        npy(np.zeros(B.shape, dtype="M8[s]")),
        npy(np.zeros(B.shape, dtype=bool)),
        npy(np.zeros(B.shape, dtype=[("x", float)])),
        npy(B[0]),
        npy(B[None]),
        npy(B[:, :0]),
        npy(B[:0]),
        npy(np.vstack([B, B])),
        npy(np.zeros((0, 0))),
        npy(1.0),
        b"",
        own[name][:-1],
        own[name] + b"x",
        own[name][:50],
        with_header(eight),
        with_header(described("'<f8'", "(1099511627776, 1099511627776)")),
        with_header(described("'<f8'", "(0, 1208925819614629174706176)")),
        with_header(described("'<f8'", "(-1, -3)"), bytes(24)),
        with_header(described("'<f8'", "(True, 3)"), bytes(24)),
        with_header(described("'<f8'", "('1', 3)"), bytes(24)),
        with_header(described("'<f8'", "None")),
        with_header(described("'<U0'", "(1099511627776, 3)")),
        with_header(described("'|V0'", "(1099511627776, 3)")),
        with_header(described("'<f8'", "(" * 3000)),
        with_header(described("'|O'", f"({r}, {p})"), bytes(8 * r * p)),
        with_header(described("[['<f8']]", f"({r}, {p})"), bytes(8 * r * p)),
        with_header("{}"),
        with_header("[" * 5000),
        with_header("1 + 1"),
        b"\x93NUMPY\x03\x00" + own[name][8:],
        b"\x93NUMPY\xff\x00" + own[name][8:],
    ]
    for data in damaged:
        assert load(changed(content, name, data)) is None
        assert load(changed(content, of(content, "A"), data)) is None
    assert not Trap.sprung
    for field in own:
        load(changed(content, field, npy(np.array([[Trap()]], dtype=object), allow_pickle=True)))
        load(changed(content, field, npy(np.zeros((2, 2, 2)))))
        load(changed(content, field, npy("text")))
    assert not Trap.sprung
    # Any memory order and byte order.
    again = load(changed(content, name, npy(np.asfortranarray(B))))
    np.testing.assert_array_equal(B_of(again), B)
    swapped = load(changed(content, name, npy(B.astype(B.dtype.newbyteorder(">")))))
    np.testing.assert_array_equal(B_of(swapped), B)
    assert B_of(swapped).dtype.isnative and B_of(again).flags.c_contiguous


def B_of(loaded):
    """Returns the filters of a result or of an estimator."""
    return loaded.result_.B if hasattr(loaded, "result_") else loaded.B


def test_versions(content, load):
    name = "codiag_model.npy" if "codiag_model.npy" in members(content) else "codiag_result.npy"
    for version in (-1, 0, 2, 10**9, 1.0, "1", True, [1], np.uint64(2**63)):
        assert load(changed(content, name, npy(np.array(version)))) is None, version
    assert load(changed(content, name, npy(np.uint8(1)))) is not None


def test_scalars_out_of_range(content, load):
    for name, value in (
        ("n_iter", -1),
        ("n_iter", 1.5),
        ("converged", 2),
        ("status", 1),
        ("loss", "low"),
        ("loss", [0.0]),
        ("gradient_norm", 1j),
        ("pair", [0, 99]),
        ("pair", [-1, 0]),
        ("pair", [0, 1, 2]),
    ):
        assert load(changed(content, of(content, name), npy(np.array(value)))) is None, name


def test_strings_out_of_place(content, load):
    own = members(content)
    if "found.npy" not in own:
        pytest.skip("results hold no JSON")
    for name in ("settings", "found"):
        text = np.load(io.BytesIO(own[f"{name}.npy"])).item()
        values = json.loads(text)
        texts = [
            "",
            "null",
            "[]",
            "1",
            '"x"',
            "{",
            text[:-1],
            "[" * 100_000,
            '{"a":' * 100_000,
            json.dumps([values]),
            '{"n_features_in_": %s}' % ("9" * 10_000),
        ]
        for changed_text in texts:
            data = npy(np.array(changed_text or "\0x"))
            assert load(changed(content, f"{name}.npy", data)) is None, changed_text[:50]
        # Settings are not checked until they are used.
        for key in values if name == "found" else ("max_iter", "window"):
            for value in (
                None,
                [],
                {},
                -1,
                "x",
                [[[[None]]]],
                {"array": "nowhere"},
                {"array": 5},
                {"array": "result_B"},
                {"array": "codiag_model"},
                {"objects": [[1], 2]},
                {"objects": ["a"] * 7},
            ):
                data = npy(np.array(json.dumps({**values, key: value})))
                again = load(changed(content, f"{name}.npy", data))
                allowed = name == "settings" or (key in ("segments_", "lags_") and value == [])
                assert allowed or again is None, (key, value)
            rest = {other: value for other, value in values.items() if other != key}
            again = load(changed(content, f"{name}.npy", npy(np.array(json.dumps(rest)))))
            assert name == "settings" or again is None, key
    settings = npy(np.array(json.dumps({"__class__": "x"})))
    assert load(changed(content, "settings.npy", settings)) is None
    # No other attribute is read from a file.
    found = json.loads(np.load(io.BytesIO(own["found.npy"])).item())
    more = npy(np.array(json.dumps({**found, "transform": "x"})))
    assert callable(load(changed(content, "found.npy", more)).transform)
    for estimator in ("", "Result", "diagonalize", "os.system", 7, ["CSP"]):
        assert load(changed(content, "estimator.npy", npy(np.array(estimator)))) is None


def test_channel_info_of_another_file(content, load):
    own = members(content)
    if "info.npy" not in own:
        pytest.skip("fitted on an array")
    info = np.load(io.BytesIO(own["info.npy"]))
    rng = np.random.default_rng(0)
    for data in (
        info[:0],
        info[:100],
        info.astype(float),
        info[::-1],
        rng.integers(0, 256, 5000, dtype=np.uint8),
        np.zeros((3, 3), dtype=np.uint8),
    ):
        assert load(changed(content, "info.npy", npy(data))) is None
    for place in rng.integers(0, len(info), 10):
        flipped = info.copy()
        flipped[place] ^= 255
        load(changed(content, "info.npy", npy(flipped)))


def test_missing_files_and_folders_raise_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        codiag.load(tmp_path / "nowhere.npz")
    with pytest.raises(OSError):
        codiag.load(tmp_path)


def test_init_from_damaged_files(tmp_path, noisy):
    path = tmp_path / "start.npy"
    path.write_bytes(npy(np.eye(6)))
    assert codiag.diagonalize(noisy, init=path).converged
    for data in (
        b"",
        npy(np.eye(6))[:-1],
        with_header(described("'<f8'", "(1099511627776, 1099511627776)")),
        npy(np.array([[Trap()]], dtype=object), allow_pickle=True),
        packed({"B.npy": npy(np.eye(6))}),
        with_header("[" * 5000),
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"start\.npy"):
            codiag.diagonalize(noisy, init=path)
    assert not Trap.sprung
