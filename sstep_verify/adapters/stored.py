"""A final vector that somebody's solver left in a file, as a solver that gives it whatever it is asked."""

from __future__ import annotations

import codecs
import hashlib
import io
import zipfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from sstep_verify.adapters.program.numbers import TEXT_BYTES, shown_numbers
from sstep_verify.errors import InputError, ProgramError, counted
from sstep_verify.files import MALFORMED_ARRAY, open_regular, read_whole
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.trajectory import GIVEN, Trajectory

ALPHA = "alpha"
"""Array of an archive that is the vector."""

HEADER = 1 << 12
"""Bytes that the header of a ``.npy`` file may take."""

SEPARATORS = bytes.maketrans(b",;[]", b"    ")
"""What may stand between numbers in text, besides white space: lists as many languages print them."""


def read_vector(
    path: str | Path, samples: int, ends: tuple[float, ...] = (), features: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The m numbers of a file, and how far each may be from the solver's own; float64, shape (m,).

    ``NAME.bin`` is float64, little-endian, without a header, ``NAME.npy`` NumPy's format, real numbers, an
    archive of such arrays (``.npz``, as `solve` writes, whatever its name) has one called ``alpha``, any
    other is text, decimal or hexadecimal as C prints with ``%a``. The second is 0 where the digits are
    those of a float64, or of `ends`, numbers that a vector may well hold exactly, however few digits
    they show: the ends of its box. As many numbers as there are `features`, 0 if that is not known, are
    asked whether they are weights. InputError if the file cannot be read, holds another number of
    numbers, or something that is no number.
    """
    place = Path(path)
    what = f"{samples} numbers"
    if place.suffix == ".bin":
        content = read_whole(place, 8 * (samples + 1), what)
        if len(content) != 8 * samples:
            raise InputError(
                f"{path}: has {len(content)} bytes, but {samples} float64, one for each sample, "
                f"have {8 * samples}"
            )
        return np.frombuffer(content, dtype="<f8").astype(np.float64), np.zeros(samples)
    with open_regular(place, what) as file:
        if zipfile.is_zipfile(file):
            content = _member(file, path, 16 * (samples + 1) + HEADER)
            return _numpy(content, path, samples, features), np.zeros(samples)
    if place.suffix == ".npy":
        content = read_whole(place, 16 * (samples + 1) + HEADER, what)
        return _numpy(content, path, samples, features), np.zeros(samples)
    content = read_whole(place, 2 * TEXT_BYTES * (samples + 1), what)
    words = content.removeprefix(codecs.BOM_UTF8).translate(SEPARATORS).split()
    try:
        numbers = shown_numbers(words, str(path), (len(words),))
    except ProgramError as error:
        raise InputError(str(error)) from error
    if len(words) != samples:
        raise InputError(
            f"{path}: holds {counted(len(words), 'number')}, but the data have "
            f"{counted(samples, 'sample')}, each with one entry of alpha"
            + _instead(len(words), samples, features)
        )
    exact = numbers.exact_if_short(ends)
    return numbers.values, np.zeros(samples) if exact else numbers.rounding


def _member(file: IO[bytes], path: str | Path, most: int) -> bytes:
    """The array ``alpha`` of an archive of arrays, of at most so many bytes."""
    with zipfile.ZipFile(file) as archive:
        names = [one.filename for one in archive.infolist()]
        if f"{ALPHA}.npy" not in names:
            held = ", ".join(name.removesuffix(".npy") for name in names)
            raise InputError(f"{path}: holds no array {ALPHA!r}, but {held:.200}; write the vector as that")
        found = archive.getinfo(f"{ALPHA}.npy")
        if found.file_size > most:
            raise InputError(f"{path}: {ALPHA!r} has {found.file_size} bytes, but at most {most} are read")
        try:
            return archive.read(found)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
            raise InputError(f"{path}: {ALPHA!r} cannot be read: {error}") from error


def _instead(met: int, samples: int, features: int) -> str:
    """What so many numbers may be, which are not one for each sample; empty where that is not known."""
    if met == features:
        return "; one for each feature: these may be the weights w, of which alpha does not follow"
    return "; the coefficients of support vectors are not enough" if met < samples else ""


def _numpy(content: bytes, path: str | Path, samples: int, features: int) -> np.ndarray:
    if not content.startswith(np.lib.format.MAGIC_PREFIX):  # NumPy takes any other for pickled objects.
        raise InputError(f"{path}: cannot be read as a .npy file: it does not begin as one")
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
    except (*MALFORMED_ARRAY, OSError, MemoryError) as error:
        raise InputError(f"{path}: cannot be read as a .npy file: {str(error).splitlines()[0]}") from error
    if not isinstance(found, np.ndarray) or found.size != samples or found.dtype.kind not in "fiu":
        shape = getattr(found, "shape", None)
        raise InputError(
            f"{path}: holds an array of shape {shape} and type {getattr(found, 'dtype', type(found))}, but "
            f"the data have {samples} samples, each with one real a_i"
            + _instead(getattr(found, "size", samples), samples, features)
        )
    return found.ravel().astype(np.float64)


class StoredVector:
    """A solver of level 0 that gives one vector, whatever it is asked for; nothing is run.

    `rounding` (m,) is the largest error of writing each value down.
    """

    def __init__(self, name: str, alpha: np.ndarray, rounding: np.ndarray):
        self._alpha, self._rounding = alpha, rounding
        self.declaration = Declaration(name, level=0)

    def __repr__(self) -> str:
        content = self._alpha.tobytes() + self._rounding.tobytes()
        return f"StoredVector({self.declaration.name!r}, sha256={hashlib.sha256(content).hexdigest()})"

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """The vector; `observe` is not called, for there is no run to be ended."""
        return Trajectory(
            s=request.s,
            start=request.start,
            iterations=np.zeros(1, dtype=np.int64),
            alphas=self._alpha[None].copy(),
            rounding=self._rounding[None].copy() if self._rounding.any() else None,
            stopped=GIVEN,
        )
