"""Data sets by name or by file: found in a folder, downloaded, or embedded in scikit-learn."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import DataError, InputError, MissingExtraError, closest, require
from sstep_verify.files import shortened
from sstep_verify.files.homes import user_cache
from sstep_verify.problems.data import embedded
from sstep_verify.problems.data.embedded import has_one_label
from sstep_verify.problems.data.labels import CLASSES, describe_mapping, describe_numbers, two_classes
from sstep_verify.problems.data.registry import Pinned, registry, values_digest
from sstep_verify.problems.data.svmlight import CUT, SUFFIXES, cut_looks_alike, read_svmlight

FOLDER_VARIABLE = "SSTEP_VERIFY_DATA"
"""Environment variable that names the folder of LIBSVM files."""

CACHE_VARIABLE = "SSTEP_VERIFY_CACHE"
"""Environment variable that names the folder downloads are kept in."""

TASKS = ("classification", "regression")

DENSE_ABOVE = 0.5
"""Density above which a dense array is smaller and faster than CSR."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Data and targets, and where they came from.

    Parameters
    ----------
    name : str
        Name of the data set, or of the file.
    data : ndarray or csr_array, shape (m, n)
        Samples by features (A), float64: dense if more than half of the values differ from 0.
    targets : ndarray, shape (m,)
        Labels -1 / +1 or real targets (y), float64.
    task : {"classification", "regression"}
        Task the targets are made for.
    source : str
        Path, address, or package and version.
    sha256 : str
        Of the file as stored; for an embedded set its `values_digest`.
    notes : tuple of str
        What a reader of a report should know, such as the mapping of labels.
    classes : tuple of float
        What the labels -1 and +1 stand for where the set was found; for classification.
    """

    name: str
    data: np.ndarray | sp.csr_array
    targets: np.ndarray
    task: str
    source: str
    sha256: str
    notes: tuple[str, ...] = ()
    classes: tuple[float, ...] = CLASSES


def names() -> tuple[str, ...]:
    """All names `load` knows, those that need no file last."""
    return (*registry(), *embedded.NAMES)


def knows(name: object) -> bool:
    """Whether `load` knows a name, so that no file is looked for under it as a path."""
    return needs_no_file(name) or (is_no_path(name) and name in registry())


def needs_no_file(name: object) -> bool:
    """Whether `load` knows a name of a set that is in no file."""
    return is_no_path(name) and embedded.knows(name)


def is_no_path(name: object) -> bool:
    """Whether this may be a name: what has a separator is a path, and no table is read to know it."""
    return os.sep not in str(name)


def load(
    name_or_path: str | Path, *, directory: str | Path | None = None, task: str | None = None
) -> DataSet:
    """Load a data set by name, or any LIBSVM file by path.

    A known name that is not embedded is looked for in `directory`, then in the folder
    ``$SSTEP_VERIFY_DATA`` (as NAME, NAME.bz2, NAME.xz or NAME.gz), then in the cache of downloads, and
    is at last downloaded from LIBSVM's site. Whatever was found must be that data set: its shape,
    label counts and digest of values are pinned.

    Parameters
    ----------
    name_or_path : str or Path
        One of `names()`, ``sized-MxN`` (see `embedded.read`), or the path of a LIBSVM file. A file
        whose path equals a known name is reached as ``./NAME``.
    directory : str or Path, optional
        Folder of LIBSVM files, such as the value of ``--data``.
    task : {"classification", "regression"}, optional
        What the targets are used for. Default: what the registry says; for a file, classification if
        there are exactly two distinct targets. Classification maps two values to -1 / +1.

    Raises
    ------
    InputError
        If the name is unknown, the set is nowhere to be had (the message tells all ways), a folder
        does not exist, or classification is asked of targets that are not two classes.
    DataError
        If a file is malformed, or holds something else than its name says.
    MissingExtraError
        If it is embedded and scikit-learn is not installed, or to be downloaded and pooch is not.
    """
    if task is not None and task not in TASKS:
        raise InputError(f"task {task!r} is unknown; known: {', '.join(TASKS)}")
    if needs_no_file(name_or_path):
        values, targets, own_task, source = embedded.read(str(name_or_path))
        return _data_set(str(name_or_path), values, targets, task or own_task, source, sha256=None)
    if isinstance(name_or_path, str) and name_or_path in registry():
        return _named(registry()[name_or_path], directory, task)
    path = Path(name_or_path)
    if not os.path.exists(path):
        raise InputError(
            f"data set {shortened(name_or_path)!r} is neither a known name nor an existing file"
            f"{closest(name_or_path, names())}; known: {', '.join(names())}"
        )
    data, targets = read_svmlight(path)
    task = task or task_for(targets)
    return _data_set(path.name, data, targets, task, str(path), file_sha256(path), notes_on(path))


def task_for(targets: np.ndarray) -> str:
    """What the targets of a file, shape (m,), are used for where nothing else is said."""
    return "classification" if np.unique(targets).size == 2 else "regression"


def notes_on(path: Path) -> tuple[str, ...]:
    """What a reader of a report should know of a file."""
    return (CUT,) if cut_looks_alike(path) else ()


def told_of(name: str, loaded: DataSet) -> list[str]:
    """Lines on a file of the user's own, such as how its labels were mapped; none on a known data set."""
    return [] if knows(name) else [f"{loaded.name}: {note}" for note in loaded.notes]


def labelled(
    targets: np.ndarray, where: str, notes: tuple[str, ...] = ()
) -> tuple[np.ndarray, tuple[str, ...], tuple[float, ...]]:
    """Labels made of targets, shape (m,), with what is to be told of them, and what they stand for.

    Raises InputError, which says where they are from, if they are not two classes.
    """
    try:
        labels, mapping = two_classes(targets)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return labels, (*notes, *filter(None, [describe_mapping(mapping)])), tuple(mapping)


def stored_file(name_or_path: str, directory: str | None) -> Path | None:
    """File in the folders of data sets, or at a path, that `load` reads; None if there is none."""
    if needs_no_file(name_or_path):
        return None
    folders = [folder for folder in (directory, os.environ.get(FOLDER_VARIABLE)) if folder]
    names = [name_or_path + suffix for suffix in SUFFIXES]
    named = (os.path.join(os.path.expanduser(folder), name) for folder in folders for name in names)
    file = next((path for path in (*named, name_or_path) if os.path.exists(path)), None)
    return Path(file) if file else None


def _named(pinned: Pinned, directory: str | Path | None, task: str | None) -> DataSet:
    attempts = []
    for folder, origin in _folders(directory):
        for suffix in SUFFIXES:
            path = folder / f"{pinned.name}{suffix}"
            if os.path.exists(path):
                way_out = (
                    f"remove it to have {pinned.url} downloaded, "
                    f"or pass the path {path.absolute()} to use it as it is"
                )
                return _pinned_file(pinned, path, str(path), task, way_out)
        attempts.append(f"{origin} ({folder}) holds no {' / '.join(pinned.name + s for s in SUFFIXES)}")
    path = _download(pinned, attempts)
    way_out = (
        "it was removed from the cache; try again, or fetch the address yourself and pass the file's path"
    )
    try:
        return _pinned_file(pinned, path, pinned.url, task, way_out)
    except DataError as error:
        # What a captive portal or a changed page delivered must not be found again next time.
        path.unlink(missing_ok=True)
        raise DataError(f"downloaded from {pinned.url}: {error}") from error


def _folders(directory: str | Path | None) -> Iterator[tuple[Path, str]]:
    """The folders to look in, each with the words for where it was named."""
    named = {
        "the folder given (--data)": directory,
        f"${FOLDER_VARIABLE}": os.environ.get(FOLDER_VARIABLE),
    }
    for origin, folder in named.items():
        if not folder:
            continue
        if not os.path.isdir(os.path.expanduser(folder)):
            raise InputError(f"{origin} is {str(folder)!r}, which is not an existing folder")
        yield Path(os.path.expanduser(folder)), origin


def _pinned_file(pinned: Pinned, path: Path, source: str, task: str | None, way_out: str) -> DataSet:
    """Read the file that should hold a named data set, and make sure that it does."""
    mapping: dict[float, int] = {}
    try:
        data, targets = read_svmlight(path, features=pinned.features)
        if pinned.task == "classification":
            targets, mapping = two_classes(targets)
    except InputError as error:
        raise DataError(f"{path}: is not the data set {pinned.name!r}: {error}; {way_out}") from error
    if fault := pinned.mismatch(data, targets):
        raise DataError(f"{path}: is not the data set {pinned.name!r}: {fault}; {way_out}")
    sha256 = file_sha256(path)
    exact = ("byte for byte LIBSVM's file",) * (sha256 in pinned.sha256.values())
    notes = (*filter(None, [describe_mapping(mapping)]), *exact)
    return _data_set(pinned.name, data, targets, task or pinned.task, source, sha256, notes, tuple(mapping))


def _download(pinned: Pinned, attempts: list[str]) -> Path:
    """Path of the file in the cache of downloads, fetched if it is not there yet."""
    try:
        pooch = require("pooch", "data")
        pooch.get_logger().setLevel("WARNING")
        known = pinned.sha256.get(Path(pinned.page).suffix)
        cache = os.environ.get(CACHE_VARIABLE) or (user_cache() and pooch.os_cache("sstep_verify"))
        if not cache:
            raise FileNotFoundError(f"there is no home to keep it in; name a folder in ${CACHE_VARIABLE}")
        return Path(
            pooch.retrieve(
                pinned.url,
                known_hash=f"sha256:{known}" if known else None,
                fname=Path(pinned.page).name,
                path=cache,
            )
        )
    except (OSError, MissingExtraError) as error:
        attempts.append(f"the download of {pinned.url} failed: {error}")
    except ValueError as error:  # the one error of pooch that means a wrong checksum
        raise DataError(f"{pinned.url}: is not the file that was pinned: {error}") from error
    raise InputError(
        f"data set {pinned.name!r} is not at hand: {'; '.join(attempts)}. Ways out: "
        f"name the folder that holds the file {pinned.name} (or .bz2, .xz, .gz) in ${FOLDER_VARIABLE}, "
        "or where a command has --data DIR, by that; "
        f"or fetch {pinned.url} where there is a network (${CACHE_VARIABLE} moves the cache); "
        f"or use a set that needs no file: {', '.join(embedded.NAMES)}"
    )


def _data_set(
    name: str,
    data: np.ndarray | sp.csr_array,
    targets: np.ndarray,
    task: str,
    source: str,
    sha256: str | None,
    notes: tuple[str, ...] = (),
    classes: tuple[float, ...] = (),
) -> DataSet:
    """Map the labels, choose dense or CSR, and freeze."""
    if task == "classification" and not has_one_label(name):
        where = source if Path(source).name == name else f"{name} ({source})"
        targets, notes, mapped = labelled(targets, where, notes)
        classes = classes or mapped
    elif task == "regression":
        notes = (*notes, *filter(None, [describe_numbers(targets)]))
    matrix = _dense_or_sparse(data)
    for part in (matrix.data, matrix.indices, matrix.indptr) if sp.issparse(matrix) else (matrix,):
        part.setflags(write=False)
    targets.setflags(write=False)
    digest = sha256 or values_digest(matrix, targets)
    return DataSet(name, matrix, targets, task, source, digest, notes, classes or CLASSES)


def _dense_or_sparse(data: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
    """Dense array or csr_array without stored zeros, whichever suits the density."""
    if not sp.issparse(data):
        return data
    data.eliminate_zeros()
    m, n = data.shape
    return data.toarray() if data.nnz > DENSE_ABOVE * m * n else data


def file_sha256(path: Path) -> str:
    """SHA-256 of a file as it is stored (hexadecimal)."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
