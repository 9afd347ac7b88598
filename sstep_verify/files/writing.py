"""Files, tables and folders that are whole or not there: made under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from sstep_verify.errors import unwritable, writable
from sstep_verify.files.paths import (
    hidden_path,
    is_hidden_path,
    shortened,
)


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name and rename it: a reader finds all of it, or what was there.

    Through a link, the file that the link names. InputError if it cannot be written; what was there stays.
    """
    try:
        target = Path(os.path.realpath(path))
        handle, partial = _new_partial(target)
        try:
            with handle:
                write(handle)
                handle.flush()
                os.fsync(handle.fileno())
                os.replace(partial, target)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise unwritable(shortened(path), error, "file") from error


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8; see `write_whole`."""
    write_whole(path, lambda handle: handle.write(text.encode("utf-8")))


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    r"""A table as CSV: a line of names, then a line for each row, each ended by ``\n``.

    Numbers are written with all digits that tell them apart (``repr``); None is written as nothing. Control
    characters are escaped, since many programs read no table with a NUL.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return writable(text.getvalue())


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    """Write a table as `csv_text` has it, in UTF-8; the path. InputError if it cannot be written."""
    write_text(path, csv_text(columns, rows))
    return path


@contextlib.contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Make a folder under another name, which takes the place of `path` at the end of the ``with`` block.

    A folder that is there is moved aside first and removed last: two renames, between which a reader finds
    none, never a mixed one; after a kill between them the next claim of the path puts it back. After an
    error in the block it stays as it was. Yields an empty folder next to the target; InputError if it
    cannot be written.
    """
    target = Path(os.path.realpath(path))
    clear_leftovers(target)
    partial = hidden_path(target, "partial")
    try:
        partial.mkdir(parents=True)
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError):  # A file system without locks is no reason not to write.
                held.enter_context(flocked(partial))
            yield partial
            _replace_folder(partial, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise unwritable(shortened(path), error, "folder") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def clear_leftovers(target: Path) -> None:
    """Put back, or remove, what a killed process left next to a target; leave what lives."""
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in list(entries):
            with contextlib.suppress(OSError):
                if is_hidden_path(entry.name, target, "old") and not target.exists():
                    os.rename(entry.path, target)
                elif any(is_hidden_path(entry.name, target, ending) for ending in ("old", "partial")):
                    with flocked(entry.path):
                        remove(Path(entry.path))


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def flocked(path: str | Path) -> Iterator[None]:
    """Hold a lock on a file or folder; OSError if another process does, or there are no locks."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _new_partial(target: Path) -> tuple[IO[bytes], Path]:
    """A fresh temporary file, open and locked, that nobody took for a leftover before it was locked."""
    while True:
        partial = hidden_path(target, "partial")
        handle = open(partial, "xb")  # noqa: SIM115 - the caller closes it
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle.fileno()).st_nlink:
            return handle, partial
        handle.close()


def _replace_folder(partial: Path, target: Path) -> None:
    if not target.exists():
        os.rename(partial, target)
        return
    aside = hidden_path(target, "old")
    os.rename(target, aside)
    try:
        os.rename(partial, target)
    except BaseException:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename outlast a loss of power, where folders can be synchronised."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
