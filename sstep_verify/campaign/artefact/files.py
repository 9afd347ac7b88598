"""Artefact: a folder with all it takes to judge a verdict again, without the solver and without its data.

Files: ``artefact.json`` (check, case, descriptions of the runs, the verdicts as they were), ``problem.npz``
and ``trajectories.npz`` (arrays, bit for bit, no pickle), ``stream.npy`` (index streams read from a file)
and ``SHA256SUMS``, which ``sha256sum -c`` reads as well.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from sstep_verify import __version__
from sstep_verify.campaign.artefact.form import (
    SCHEMA,
    Arrays,
    Document,
    Drawn,
    array_header,
    form,
    from_form,
    load_arrays,
    to_plain,
)
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import InputError
from sstep_verify.files import MALFORMED_ARRAY, open_regular, read_whole
from sstep_verify.files.records import convert, decode, encode, one_line
from sstep_verify.problems import IndexStream
from sstep_verify.report.plain import plain
from sstep_verify.trajectory import Trajectory

DOCUMENT, PROBLEM, TRAJECTORIES, STREAM = "artefact.json", "problem.npz", "trajectories.npz", "stream.npy"
SUMS = "SHA256SUMS"
NEEDED = (DOCUMENT, PROBLEM, TRAJECTORIES)

EVERY = "every-check"
"""Stands for the check, and 0 for s, where all runs of a case are kept."""

LONGEST_NAME = 160
"""Characters of a folder's name; file systems allow 255."""

BLOCKS_AT_ONCE = 1 << 14

MOST_SUMS, MOST_DOCUMENT = 4 << 20, 64 << 20
"""Bytes of a list of digests (a line a file), and of the document, without arrays."""

MOST_BLOCKS = 1 << 28
"""Blocks of an index stream that are drawn again to compare them: some seconds."""

MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError)
"""Errors of code that trusts the values of an artefact, which may have been changed, digests and all."""


@dataclass(frozen=True, eq=False)
class Artefact:
    """One check on one run of a case, as it was judged.

    `check` is its id, or `EVERY`, and `s` that of the run judged, 0 with `EVERY`; the replay command of
    `case` runs the solver again. `trajectories` are the runs that the check needs, by key; `verdicts` those
    of this check on this s as plain values, one as a rule; `version` is that of the package that wrote it.
    """

    check: str
    s: int
    case: Case
    trajectories: Mapping[str, Trajectory]
    verdicts: tuple[dict, ...]
    version: str = __version__


def write_artefact(artefact: Artefact, parent: Path) -> Path:
    """Write an artefact into a folder of its own: under a temporary name, then renamed.

    The folder is ``parent/<case>-<check>-s<s>``, with a number behind it if that is there already.
    InputError if a value cannot be kept without pickle, OSError if it cannot be written.
    """
    tail = f"-{artefact.check}-s{artefact.s}"
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", artefact.case.id).strip("-.") or "case"
    name = name[: LONGEST_NAME - len(tail)] + tail
    partial = parent / f".{name}.{secrets.token_hex(4)}.partial"
    partial.mkdir(parents=True)
    try:
        _write_files(artefact, partial)
        for number in range(1, 1000):
            target = parent / (name if number == 1 else f"{name}-{number}")
            if not target.exists():
                os.rename(partial, target)
                return target
        raise OSError(f"{parent}: holds a thousand artefacts named {name}")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_artefact(folder: str | Path, most: int | None = None) -> Artefact:
    """Read an artefact after comparing every file with its recorded SHA-256.

    `most` is the largest size of the arrays of a file, in bytes; see `load_arrays`. InputError if it is no
    artefact, a file is missing or was changed (both digests are named), another schema version wrote it, or
    this version of NumPy draws another index stream.
    """
    path = Path(folder)
    if not os.path.lexists(path):
        raise InputError(f"{path}: no such folder")
    if not os.path.lexists(path / SUMS):
        raise InputError(
            f"{path}: is no artefact, for it has no {SUMS}; name a folder that a "
            "report holds under artefacts/"
        )
    hold_digests(path, NEEDED, STREAM)
    try:
        return _read(path, most)
    except InputError as error:
        raise InputError(
            str(error) if str(path) in str(error) else f"{path}: {one_line(str(error))}"
        ) from error
    except (*MALFORMED, *MALFORMED_ARRAY, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: cannot be read as an artefact: {one_line(repr(error))}") from error


def _read(path: Path, most: int | None) -> Artefact:
    values = decode(read_whole(path / DOCUMENT, MOST_DOCUMENT, "an artefact", follow=False), DOCUMENT)
    said = values if isinstance(values, dict) else {}
    if said.get("schema") != SCHEMA:
        raise InputError(
            f"has schema version {said.get('schema')!r:.60}, but this version reads schema {SCHEMA}; "
            f"read it with the version of sstep-verify that wrote it ({said.get('version')!s:.60})"
        )
    found = convert(values, form(), DOCUMENT)
    if found.case.stream.kind == "file":
        own = path / STREAM
        with open_regular(own, "an index stream", follow=False) as file:
            array_header(file, os.fstat(file.fileno()).st_size, str(own))
        found.case.stream = msgspec.structs.replace(found.case.stream, path=str(own))
    drawn, arrays = found.stream, load_arrays(path / PROBLEM, most)
    runs = from_form(found.trajectories, load_arrays(path / TRAJECTORIES, most))
    case = from_form(found.case, arrays)
    _compare_stream(path, case.stream, drawn, _used(case.stream, runs) if case.stream.known else 0)
    return Artefact(found.check, found.s, case, runs, from_form(found.verdicts, {}), found.version)


def _used(stream: IndexStream, runs: Mapping[str, Trajectory]) -> int:
    """Blocks that the runs drew; a broken run may say that it began elsewhere."""
    used = max((run.start + run.length for run in runs.values()), default=0)
    return min(max(used, 0), stream.length)


def _write_files(artefact: Artefact, folder: Path) -> None:
    case = artefact.case
    arrays: Arrays = {}
    recorded: Arrays = {}
    own = case.stream.kind in ("file", "logged") and case.stream.known
    bare = replace(case, stream=replace(case.stream, drawn="")) if case.stream.drawn else case
    described = to_plain(bare, "case", arrays)
    if own:
        described["stream"] |= {"kind": "file", "path": STREAM}
        whole = replace(case.stream, relabel=None).blocks(0, case.stream.length)
        # Into a file NumPy would write by `tofile`, which does not say why a disk took less than all.
        held = io.BytesIO()
        np.save(held, whole, allow_pickle=False)
        (folder / STREAM).write_bytes(held.getbuffer())
    used = _used(case.stream, artefact.trajectories) if case.stream.known else 0
    document = {
        "record": Document.__name__,
        "schema": SCHEMA,
        "version": artefact.version,
        "check": artefact.check,
        "s": artefact.s,
        "verdicts": [plain(verdict) for verdict in artefact.verdicts],
        "case": described,
        "stream": to_plain(Drawn(used, stream_digest(case.stream, used), np.__version__), "stream", {}),
        "trajectories": to_plain(dict(artefact.trajectories), "run", recorded),
    }
    np.savez_compressed(folder / PROBLEM, **arrays)  # type: ignore[arg-type]
    np.savez_compressed(folder / TRAJECTORIES, **recorded)  # type: ignore[arg-type]
    content = encode(document)
    convert(decode(content, DOCUMENT), form(), DOCUMENT)  # What could not be read is not written.
    (folder / DOCUMENT).write_bytes(msgspec.json.format(content, indent=1) + b"\n")
    write_digests(folder, [entry.name for entry in folder.iterdir()])


def stream_digest(stream: IndexStream, blocks: int) -> str:
    """SHA-256 of the first blocks of a stream, as 64-bit integers (hexadecimal)."""
    found = hashlib.sha256()
    for begin in range(0, blocks, BLOCKS_AT_ONCE):
        drawn = stream.blocks(begin, min(begin + BLOCKS_AT_ONCE, blocks))
        found.update(np.ascontiguousarray(drawn, dtype="<i8").tobytes())
    return found.hexdigest()


def _compare_stream(path: Path, stream: IndexStream, drawn: Drawn, used: int) -> None:
    if drawn.blocks != used or used > MOST_BLOCKS:
        raise InputError(
            f"{path}: says that {drawn.blocks} blocks of the index stream were used; its runs use {used}, "
            f"and at most {MOST_BLOCKS} are drawn again"
        )
    found = stream_digest(stream, used)
    if found != drawn.sha256:
        raise InputError(
            f"{path}: the first {used} blocks of the {stream.kind} index stream have SHA-256 "
            f"{found}, but the artefact's had {drawn.sha256}: NumPy {np.__version__} draws other "
            f"numbers than NumPy {drawn.numpy}; read it with that version"
        )


def write_digests(folder: Path, names: Iterable[str]) -> None:
    """Write the list of the digests of some files of a folder, by their names in it."""
    (folder / SUMS).write_text(_listed({name: _digest(folder / name) for name in names}), encoding="ascii")


def _listed(digests: Mapping[str, str]) -> str:
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))


def hold_digests(path: Path, needed: Collection[str], optional: str = "") -> None:
    """Compare files of a folder with its list of digests, which lists them and one that may be there alone.

    InputError if it has another list, or a file is missing or was changed (both digests are named).
    """
    content = read_whole(path / SUMS, MOST_SUMS, "a list of digests", follow=False).decode("latin-1")
    recorded = {name: digest for digest, _, name in (line.partition("  ") for line in content.splitlines())}
    for name in sorted({*needed, *recorded}):
        if name not in recorded or name not in (*needed, optional):
            listed = "does not list" if name not in recorded else "lists the unknown file"
            raise InputError(
                f"{path / SUMS}: {listed} {name or '(a line without a name)'}; something was changed after "
                "it was written"
            )
        if not os.path.lexists(path / name):
            raise InputError(f"{path / name}: is missing, but {SUMS} lists it (SHA-256 {recorded[name]})")
        found = _digest(path / name)
        if found != recorded[name]:
            raise InputError(
                f"{path / name}: has SHA-256 {found}, but {SUMS} says {recorded[name]}; the file was "
                "changed or cut off after it was written, so nothing is judged by it"
            )
    if content != _listed(recorded):
        raise InputError(f"{path / SUMS}: was changed after it was written: it lists a file twice, or so")


def _digest(path: Path) -> str:
    with open_regular(path, "part of an artefact", follow=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
