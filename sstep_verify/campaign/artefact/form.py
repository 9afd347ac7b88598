"""Records of an artefact: the dataclasses they stand for, as plain values and arrays, and back again.

A record names its dataclass and has its fields; arrays stand in a ``.npz`` file next to the document, by
the names of its members. There is no pickle: nothing is built from a file but the dataclasses of
`Document`.
"""

from __future__ import annotations

import functools
import math
import operator
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import IO, Any, Literal

import msgspec
import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import InputError
from sstep_verify.files import open_regular
from sstep_verify.files.records import strict
from sstep_verify.problems.kernels import KERNELS, Kernel
from sstep_verify.problems.losses import LOSSES, Loss
from sstep_verify.report.plain import plain
from sstep_verify.report.results import VERDICT, Stored
from sstep_verify.trajectory import Trajectory

MOST_BYTES = 4 << 30
"""Bytes of all arrays of a file together: what a campaign lets a process take for a case by default."""

Arrays = dict[str, np.ndarray]


def load_arrays(path: Path, most: int | None = None) -> Arrays:
    """The members of a ``.npz`` file; each header is compared with its member's size before allocation.

    InputError if it is not a regular file, a member is no array or not as long as it says, or they have
    more than `most` bytes together (`MOST_BYTES` if it is not said); BadZipFile or `MALFORMED_ARRAY` of
    `files` if it is no such file.
    """
    with open_regular(path, "arrays", follow=False) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        size, most = sum(member.file_size for member in members), MOST_BYTES if most is None else most
        if size > most:
            raise InputError(f"{path}: holds {size} bytes of arrays, but at most {most} are read")
        found = {}
        for member in members:
            with archive.open(member) as content:
                where = f"{path}, {member.filename}"
                shape, by_columns, dtype, data = array_header(content, member.file_size, where)
                flat = np.frombuffer(bytearray(content.read(data)), dtype)
                name = member.filename.removesuffix(".npy")
                found[name] = flat.reshape(shape, order="F" if by_columns else "C")
        return found


def array_header(file: IO[bytes], size: int, where: str) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, order, type and bytes of the array of a ``.npy`` file of `size` bytes, whose header is read.

    InputError if it holds Python objects, or the header claims more or fewer bytes than there are;
    `MALFORMED_ARRAY` of `files` if it is no such file.
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


SCHEMA: Literal[4] = 4


class Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="array"):
    """An array: a member of the ``.npz`` file."""

    member: str


class Sparse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="csr"):
    """A matrix in compressed sparse rows."""

    data: Array
    indices: Array
    indptr: Array
    shape: tuple[int, int]


class NotFinite(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="float"):
    """A number that JSON has no word for."""

    value: Literal["inf", "-inf", "nan"]


@dataclass(frozen=True)
class Drawn:
    """The part of the index stream that the runs used.

    So many blocks from its beginning, with a digest (`stream_digest`), as this version of NumPy drew them.
    """

    blocks: int
    sha256: str
    numpy: str


@dataclass(frozen=True)
class Document:
    """All that an artefact says, arrays apart: its fields and what was drawn of the index stream."""

    schema: Literal[4]
    version: str
    check: str
    s: int
    verdicts: tuple[Stored, ...]
    case: Case
    stream: Drawn
    trajectories: dict[str, Trajectory]


def form() -> Any:
    """The document in a file, with the kernels registered so far."""
    return _form(tuple(KERNELS.values()))


@functools.cache
def _form(kernels: tuple[type[Kernel], ...]) -> Any:
    instead: dict[Any, Any] = {
        Stored: VERDICT,
        float: float | NotFinite,
        np.ndarray: Array,
        np.ndarray | sp.csr_array: Array | Sparse,
    }
    of_kernels = (strict(kernel, instead, tagged=True) for kernel in kernels)
    instead[Kernel] = functools.reduce(operator.or_, of_kernels)
    of_losses = (strict(loss, instead, tagged=True) for loss in LOSSES.values())
    instead[Loss] = functools.reduce(operator.or_, of_losses)
    return strict(Document, instead, tagged=True)


def to_plain(value: Any, where: str, arrays: Arrays) -> Any:
    """Turn a record into values that JSON holds; its arrays go to `arrays`, by the names of members.

    Finite numbers keep every bit. InputError if a part has no such form, as an array of Python objects;
    `where` says where it stands, such as ``case.problem``.
    """
    match value:
        case np.ndarray() if not value.dtype.hasobject:
            member = f"a{len(arrays)}"
            arrays[member] = value
            return {"record": "array", "member": member}
        case sp.csr_array():
            parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
            shape = [int(size) for size in value.shape]
            return {"record": "csr", **to_plain(parts, where, arrays), "shape": shape}
        case np.bool_() | np.integer():
            return value.item()
        case float():
            number = float(value)
            return number if math.isfinite(number) else {"record": "float", "value": str(number)}
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {key: to_plain(item, f"{where}.{key}", arrays) for key, item in value.items()}
        case list() | tuple():
            return [to_plain(item, f"{where}.{place}", arrays) for place, item in enumerate(value)]
    if is_dataclass(value):
        held = {item.name: getattr(value, item.name) for item in fields(value)}
        return {"record": type(value).__name__, **to_plain(held, where, arrays)}
    kind = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
    raise InputError(f"{where}: a {kind} cannot be kept in an artefact, which holds no pickle")


def from_form(value: Any, arrays: Arrays) -> Any:
    """Build the dataclass, or what stands in its fields, from its form in a file.

    InputError if an array is missing, or a record refuses its values; ValueError if the parts of a sparse
    matrix do not fit together.
    """
    match value:
        case Array():
            if value.member not in arrays:
                raise InputError(f"the array {value.member!r} is missing")
            return arrays[value.member]
        case Sparse():
            parts = tuple(from_form(part, arrays) for part in (value.data, value.indices, value.indptr))
            matrix = sp.csr_array(parts, shape=value.shape)
            # SciPy would read outside the arrays by an index that is too large.
            matrix.check_format(full_check=True)
            return matrix
        case NotFinite():
            return float(value.value)
        case VERDICT():
            return plain(value)
        case msgspec.Struct():
            held = {name: from_form(getattr(value, name), arrays) for name in value.__struct_fields__}
            return type(value).stands_for(**held)  # type: ignore[attr-defined]
        case dict():
            return {key: from_form(item, arrays) for key, item in value.items()}
        case tuple():
            return tuple(from_form(item, arrays) for item in value)
    return value
