"""Artefact: a folder with all it takes to judge a verdict again, without the solver and without its data.

Files: ``artefact.json`` (check, case, descriptions of the runs, the verdicts as they were), ``problem.npz``
and ``trajectories.npz`` (arrays, bit for bit, no pickle), ``stream.npy`` (index streams read from a file)
and ``SHA256SUMS``, which ``sha256sum -c`` reads as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sstep_verify import __version__
from sstep_verify.campaign.artefact_values import Arrays, from_plain, to_plain
from sstep_verify.checks.case import Case
from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream
from sstep_verify.reporting.plain import plain
from sstep_verify.trajectory import Trajectory

SCHEMA = 1
DOCUMENT, PROBLEM, TRAJECTORIES, STREAM = "artefact.json", "problem.npz", "trajectories.npz", "stream.npy"
SUMS = "SHA256SUMS"
NEEDED = (DOCUMENT, PROBLEM, TRAJECTORIES)

LONGEST_NAME = 160
"""Characters of a folder's name; file systems allow 255."""

BLOCKS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Artefact:
    """One check on one run of a case, as it was judged.

    Parameters
    ----------
    check : str
        Check id.
    s : int
        Iterations per window of the run judged.
    case : Case
        The case; its replay command runs the solver again.
    trajectories : mapping of str to Trajectory
        The runs the check needs, by key.
    verdicts : tuple of dict
        ``Verdict.as_dict()`` of each verdict of this check on this s, in order; one as a rule.
    version : str
        Version of the package that wrote it.
    """

    check: str
    s: int
    case: Case
    trajectories: Mapping[str, Trajectory]
    verdicts: tuple[dict, ...]
    version: str = __version__


def write_artefact(artefact: Artefact, parent: Path) -> Path:
    """Write an artefact into a folder of its own: under a temporary name, then renamed.

    Parameters
    ----------
    artefact : Artefact
        What is kept.
    parent : Path
        Folder of artefacts; made if absent.

    Returns
    -------
    Path
        ``parent/<case>-<check>-s<s>``; with a number behind it if that is there already.

    Raises
    ------
    InputError
        If a value cannot be kept without pickle.
    OSError
        If it cannot be written.
    """
    name = _folder_name(artefact)
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


def read_artefact(folder: str | Path) -> Artefact:
    """Read an artefact after comparing every file with its recorded SHA-256.

    Parameters
    ----------
    folder : str or Path
        The artefact's folder.

    Raises
    ------
    InputError
        If it is no artefact, a file is missing or was changed (both digests are named), another schema
        version wrote it, or this version of NumPy draws another index stream.
    """
    path = Path(folder)
    _compare_digests(path)
    try:
        document = json.loads((path / DOCUMENT).read_text("utf-8"))
        schema = document.get("schema")
        if schema != SCHEMA:
            raise InputError(
                f"{path}: has schema version {schema!r}, but this version reads schema {SCHEMA}; read it "
                f"with the version of sstep-verify that wrote it ({document.get('version')})"
            )
        if "path" in document["case"]["stream"] and document["case"]["stream"]["kind"] == "file":
            document["case"]["stream"]["path"] = str(path / STREAM)
        case = from_plain(document["case"], _load(path / PROBLEM), "case")
        runs = from_plain(document["trajectories"], _load(path / TRAJECTORIES), "trajectories")
        _compare_stream(path, case.stream, document["stream"])
        return Artefact(
            document["check"], document["s"], case, runs, tuple(document["verdicts"]), document["version"]
        )
    except InputError as error:
        raise InputError(f"{path}: {error}" if str(path) not in str(error) else str(error)) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read as an artefact: {error!r}") from error


def _write_files(artefact: Artefact, folder: Path) -> None:
    case = artefact.case
    arrays: Arrays = {}
    recorded: Arrays = {}
    described = to_plain(case, "case", arrays)
    if case.stream.kind == "file":
        described["stream"]["path"] = STREAM
        drawn = replace(case.stream, relabel=None).blocks(0, case.stream.length)
        np.save(folder / STREAM, drawn, allow_pickle=False)
    # A run that says that it began elsewhere, as a broken one may, need not have been there.
    used = max((run.start + run.length for run in artefact.trajectories.values()), default=0)
    used = min(max(used, 0), case.stream.length)
    document = {
        "schema": SCHEMA,
        "version": artefact.version,
        "check": artefact.check,
        "s": artefact.s,
        "verdicts": [plain(verdict) for verdict in artefact.verdicts],
        "case": described,
        "stream": {"blocks": used, "sha256": stream_digest(case.stream, used), "numpy": np.__version__},
        "trajectories": to_plain(dict(artefact.trajectories), "run", recorded),
    }
    _save(folder / PROBLEM, arrays)
    _save(folder / TRAJECTORIES, recorded)
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    (folder / DOCUMENT).write_text(text + "\n", encoding="utf-8")
    names = sorted(entry.name for entry in folder.iterdir())
    sums = "".join(f"{_digest(folder / name)}  {name}\n" for name in names)
    (folder / SUMS).write_text(sums, encoding="ascii")


def _save(path: Path, arrays: Arrays) -> None:
    """A ``.npz`` file whose members are numbered: their names in the document may hold any character."""
    names = json.dumps(list(arrays)).encode()
    numbered = {f"a{place}": array for place, array in enumerate(arrays.values())}
    np.savez_compressed(path, names=np.frombuffer(names, dtype=np.uint8), **numbered)  # type: ignore[arg-type]


def _load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        names = json.loads(file["names"].tobytes())
        return {name: file[f"a{place}"] for place, name in enumerate(names)}


def stream_digest(stream: IndexStream, blocks: int) -> str:
    """SHA-256 of the first blocks of a stream, as 64-bit integers (hexadecimal)."""
    found = hashlib.sha256()
    for begin in range(0, blocks, BLOCKS_AT_ONCE):
        drawn = stream.blocks(begin, min(begin + BLOCKS_AT_ONCE, blocks))
        found.update(np.ascontiguousarray(drawn, dtype="<i8").tobytes())
    return found.hexdigest()


def _compare_stream(path: Path, stream: IndexStream, recorded: dict) -> None:
    found = stream_digest(stream, recorded["blocks"])
    if found != recorded["sha256"]:
        raise InputError(
            f"{path}: the first {recorded['blocks']} blocks of the {stream.kind} index stream have SHA-256 "
            f"{found}, but the artefact's had {recorded['sha256']}: NumPy {np.__version__} draws other "
            f"numbers than NumPy {recorded['numpy']}; read it with that version"
        )


def _compare_digests(path: Path) -> None:
    try:
        lines = (path / SUMS).read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: is no artefact, for {SUMS} cannot be read in it; name a folder that a report holds "
            "under artefacts/"
        ) from error
    recorded = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in sorted({*NEEDED, *recorded}):
        if name not in recorded or name not in (*NEEDED, STREAM):
            listed = "does not list" if name not in recorded else "lists the unknown file"
            raise InputError(
                f"{path / SUMS}: {listed} {name}; the artefact was changed after it was written"
            )
        if not (path / name).is_file():
            raise InputError(f"{path / name}: is missing, but {SUMS} lists it (SHA-256 {recorded[name]})")
        found = _digest(path / name)
        if found != recorded[name]:
            raise InputError(
                f"{path / name}: has SHA-256 {found}, but {SUMS} says {recorded[name]}; the file was "
                "changed or cut off after it was written, so nothing is judged by it"
            )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder_name(artefact: Artefact) -> str:
    tail = f"-{artefact.check}-s{artefact.s}"
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", artefact.case.id).strip("-.") or "case"
    return name[: LONGEST_NAME - len(tail)] + tail
