"""Safe reading of npz and npy files: a damaged or foreign file raises ValueError."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Members may be compressed, but arrays of numbers hardly shrink. A file of s bytes may unpack to
# _FREE_BYTES + _MAX_RATIO s bytes.
_FREE_BYTES = 16 << 20
_MAX_RATIO = 16
_MAX_MEMBERS = 10_000
_CHUNK = 1 << 20
_KINDS = "biufcUS"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


class Npz:
    """Arrays of an open npz file, unpacked when they are read.

    Parameters
    ----------
    file : binary file
        The file, open for reading and seekable.

    Raises
    ------
    ValueError
        If it is not an npz file, has two members of one name, or too many members.
    """

    def __init__(self, file: IO[bytes]) -> None:
        if file.read(6) == b"\x93NUMPY":
            raise ValueError("it holds a single array")
        try:
            self._archive = zipfile.ZipFile(file)
        except zipfile.BadZipFile:
            raise ValueError("it is not an npz file, or is truncated") from None
        members = self._archive.infolist()
        if len(members) > _MAX_MEMBERS:
            raise ValueError(f"it has {len(members)} members, more than {_MAX_MEMBERS}")
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in self._members:
                raise ValueError(f"it has two members named {name!r}")
            self._members[name] = member
        self._budget = _FREE_BYTES + _MAX_RATIO * file.seek(0, os.SEEK_END)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array; raise ValueError if it is damaged."""
        member = self._members.get(name)
        if member is None:
            raise ValueError(f"it has no array {name!r}")
        if member.flag_bits & _ENCRYPTED:
            raise ValueError(f"the array {name!r} is encrypted")
        if member.compress_type not in _METHODS:
            raise ValueError(f"the array {name!r} is compressed by a method that is not supported")
        stored = member.compress_type == zipfile.ZIP_STORED
        if stored and member.compress_size != member.file_size:
            raise ValueError(f"the array {name!r} has two sizes")
        try:
            with self._archive.open(member) as stream:
                array = _read_array(stream, member.file_size, self._budget)
                # The checksum is compared where the member ends.
                stream.read(1)
        except Exception as problem:  # zipfile and zlib raise many types
            raise ValueError(f"the array {name!r} is damaged: {problem}") from None
        self._budget -= member.file_size
        return array


def read_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return the array of an npy file; raise ValueError if it is damaged."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            return _read_array(file, size, size)
        except Exception as problem:  # numpy's header parser raises many types
            raise ValueError(
                f"{os.fspath(path)!r} is not an npy file of numbers: {problem}"
            ) from None


def _read_array(stream: Any, size: int, budget: int) -> NDArray[Any]:
    """Return the array of an npy stream, whose header must account for all of its `size` bytes."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"npy files of version {version} are not supported")
    if dtype.hasobject or dtype.kind not in _KINDS or dtype.itemsize == 0:
        raise ValueError(f"arrays of {dtype} are not supported")
    if not all(type(length) is int and 0 <= length < 2**62 for length in shape):
        raise ValueError(f"its shape {shape} is impossible")
    wanted = math.prod(shape) * dtype.itemsize
    there = size - stream.tell()
    if wanted != there:
        raise ValueError(f"its shape {shape} needs {wanted} bytes, but there are {there}")
    if size > budget:
        raise ValueError(f"it unpacks to {size} bytes, too many for a file of this size")
    content = bytearray()
    while len(content) < wanted:
        chunk = stream.read(min(_CHUNK, wanted - len(content)))
        if not chunk:
            raise ValueError(f"it ends after {len(content)} of {wanted} bytes")
        content += chunk
    flat = np.frombuffer(content, dtype=dtype) if wanted else np.empty(0, dtype)
    array = flat.reshape(shape, order="F" if fortran else "C")
    if fortran and array.ndim > 1:
        array = np.ascontiguousarray(array)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))
