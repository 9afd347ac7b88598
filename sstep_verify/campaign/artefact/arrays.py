"""Arrays of an artefact: ``.npy`` and ``.npz`` files whose sizes are compared before allocation."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from sstep_verify.errors import InputError
from sstep_verify.inputs import open_regular

MOST_BYTES = 4 << 30
"""Bytes of all arrays of a file together: what a campaign lets a process take for a case by default."""

Arrays = dict[str, np.ndarray]


def load_arrays(path: Path, most: int | None = None) -> Arrays:
    """The members of a ``.npz`` file; each header is compared with its member's size before allocation.

    InputError if it is not a regular file, a member is no array or not as long as it says, or they have
    more than `most` bytes together (`MOST_BYTES` if it is not said); BadZipFile, EOFError or ValueError
    if it is no such file.
    """
    with open_regular(path, "arrays", follow=False) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        size, most = sum(member.file_size for member in members), MOST_BYTES if most is None else most
        if size > most:
            raise InputError(f"{path}: holds {size} bytes of arrays, but at most {most} are read")
        found = {}
        for member in members:
            with archive.open(member) as content:
                found[member.filename.removesuffix(".npy")] = _array(
                    content, member.file_size, f"{path}, {member.filename}"
                )
        return found


def _array(file: Any, size: int, where: str) -> np.ndarray:
    shape, by_columns, dtype, data = array_header(file, size, where)
    flat = np.frombuffer(bytearray(file.read(data)), dtype)
    return flat.reshape(shape, order="F" if by_columns else "C")


def array_header(file: BinaryIO, size: int, where: str) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, order, type and bytes of the array of a ``.npy`` file of `size` bytes, whose header is read.

    InputError if it holds Python objects, or the header claims more or fewer bytes than there are;
    ValueError if it is no such file.
    """
    read = npy.read_array_header_2_0 if npy.read_magic(file)[0] > 1 else npy.read_array_header_1_0
    shape, by_columns, dtype = read(file)
    there, claimed = size - file.tell(), math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or claimed != there:
        raise InputError(
            f"{where}: says that it is an array of shape {shape} and type {dtype}, {claimed} bytes, but "
            f"holds {there}"
        )
    return shape, by_columns, dtype, claimed
