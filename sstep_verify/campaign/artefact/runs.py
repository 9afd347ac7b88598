"""Kept runs of one problem: a folder from which its checks can judge again without the solver.

``runs.json`` describes the runs, ``runs.npz`` holds their arrays bit for bit, and ``SHA256SUMS`` has the
digests of both. Nothing is pickled. Kernel rows and times are not kept.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from sstep_verify.campaign.artefact.files import MALFORMED, hold_digests, stream_digest, write_digests
from sstep_verify.campaign.artefact.form import (
    Array,
    Arrays,
    Drawn,
    NotFinite,
    from_form,
    load_arrays,
    to_plain,
)
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.files import MALFORMED_ARRAY, read_whole, shortened
from sstep_verify.files.records import convert, decode, encode, one_line, strict
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.runs import asked_of
from sstep_verify.trajectory import Trajectory

SCHEMA: Literal[1] = 1

DOCUMENT, ARRAYS = "runs.json", "runs.npz"

FILES = (DOCUMENT, ARRAYS)
"""Files of the folder of a problem, besides its list of digests."""

NAME = r"[A-Za-z0-9_=+][A-Za-z0-9._=+-]{0,99}"
"""Names of these folders."""

LIMIT = 2 * 10**9
"""Bytes of the runs that are kept next to one report."""

MOST_DOCUMENT = 64 << 20
"""Bytes of a document, without arrays."""


def name_of(case: str) -> str:
    """The name of the folder of a problem, by its id."""
    words = re.sub(r"[^A-Za-z0-9._=+-]+", "-", case).strip("-.")[:80]
    return f"{words or 'problem'}-{hashlib.sha256(case.encode()).hexdigest()[:12]}"


class TooLargeError(InputError):
    """Runs that would take more than is kept next to a report: bytes estimated, and bytes allowed."""

    def __init__(self, estimate: int, limit: int):
        self.estimate, self.limit = estimate, limit
        super().__init__(
            f"--keep-runs: the runs take about {estimate / 1e9:.3g} GB, but at most {limit / 1e9:.3g} GB "
            "are kept; leave it out, or ask for fewer problems by --only"
        )


def refuse_too_large(sizes: Iterable[int]) -> None:
    """Raise TooLargeError if the runs of some problems take more than is kept."""
    if (estimate := sum(sizes)) > LIMIT:
        raise TooLargeError(estimate, LIMIT)


def bytes_of(case: Case, requests: Iterable[RunRequest]) -> int:
    """Most bytes that runs take: alpha and weights where recorded, log or own draws of every step."""
    numbers, own = case.problem.samples, not case.stream.known
    if case.declaration.weights is not None:
        numbers += case.problem.features
    return sum(
        8 * len(one.stops) * numbers + 8 * one.iterations * case.stream.block * (one.log + own)
        for one in requests
    )


@dataclass(frozen=True, eq=False)
class KeptRun:
    """A run as its checks judge it, and what its observer was shown.

    `observed` are the iterations at which the observer was called, `shown` the values of a that it got;
    empty where these are the recorded ones.
    """

    run: Trajectory
    observed: tuple[int, ...] = ()
    shown: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True, eq=False)
class KeptCase:
    """The runs of a problem by key, the draws that they used, and remarks on the solver that made them."""

    schema: Literal[1]
    case: str
    drawn: Drawn
    remarks: tuple[str, ...]
    runs: dict[str, KeptRun]


class Made:
    """Has the runs of a problem made, and keeps each as its checks judge it."""

    def __init__(self) -> None:
        self.runs: dict[str, KeptRun] = {}

    def run(
        self,
        key: str,
        request: RunRequest,
        observe: Observer | None,
        make: Callable[[Observer | None], Trajectory],
    ) -> Trajectory:
        """Make a run, and keep it under its key."""
        shown: list[tuple[int, np.ndarray]] = []

        def watching(iteration: int, alpha: np.ndarray) -> bool:
            if np.shape(alpha) == (request.problem.samples,):  # Of another shape nothing is measured.
                shown.append((int(iteration), np.array(alpha)))
            return observe is not None and observe(iteration, alpha)

        made = without_rows(make(watching if observe is not None else None))
        recorded = all(_is_recorded(made, iteration, alpha) for iteration, alpha in shown)
        iterations, alphas = tuple(zip(*shown, strict=True)) or ((), ())
        self.runs[key] = KeptRun(made, iterations, () if recorded else alphas)
        return made


class Again:
    """Gives the kept runs of a problem in place of those that a solver would make."""

    def __init__(self, kept: KeptCase):
        self._kept = kept.runs

    def run(
        self,
        key: str,
        request: RunRequest,
        observe: Observer | None,
        make: Callable[[Observer | None], Trajectory],
    ) -> Trajectory:
        """The run of a key, whose observer is shown what it was shown.

        InputError if no run is kept under this key, or it was asked for anything else.
        """
        if key not in self._kept:
            raise InputError(f"run {key} is not among those that were kept")
        kept = self._kept[key]
        asked, wanted = kept.run.asked, asked_of(request)
        for item in fields(wanted):
            if item.name in ("ended", "changed"):
                continue
            then, now = getattr(asked, item.name, None), getattr(wanted, item.name)
            same = then.tobytes() == now.tobytes() if isinstance(then, np.ndarray) else then == now
            if not same:
                raise InputError(f"the kept run {key} was asked for another {item.name}")
        if observe is not None:
            for iteration, alpha in self._shown(key):
                observe(iteration, alpha)
        return kept.run

    def _shown(self, key: str) -> list[tuple[int, np.ndarray]]:
        """What the observer of a run was shown; InputError if the run does not hold it."""
        kept = self._kept[key]
        try:
            alphas = kept.shown or tuple(map(kept.run.at, kept.observed))
            return list(zip(kept.observed, map(np.asarray, alphas), strict=True))
        except MALFORMED as error:
            raise InputError(f"the kept run {key} does not hold what its observer was shown") from error


def without_rows(run: Trajectory) -> Trajectory:
    """A run without kernel rows and times, which are not kept."""
    return replace(run, panels={}, timers={})


def exposing_nothing(declaration: Declaration) -> Declaration:
    """What a solver declares, but for the kernel rows that it exposes, which are not kept."""
    return replace(declaration, panels=False)


def _is_recorded(run: Trajectory, iteration: int, alpha: np.ndarray) -> bool:
    """Whether the run recorded at an iteration what its observer was shown, bit for bit."""
    try:
        found = run.at(iteration)
        return bool(found.dtype == alpha.dtype and found.tobytes() == alpha.tobytes())
    except (*MALFORMED,):  # of a run that returned no arrays
        return False


def write_case(case: Case, runs: Mapping[str, KeptRun], remarks: Iterable[str], parent: Path) -> str:
    """Keep the runs of a problem in a folder of its own, made under a temporary name first; its name.

    A folder of the same problem is replaced. InputError if a value or a folder cannot be written.
    """
    used = max((one.run.start + one.run.length for one in runs.values() if not one.run.raised), default=0)
    used = min(max(used, 0), case.stream.length) if case.stream.known else 0
    name = name_of(case.id)
    partial = parent / f".{name}.{secrets.token_hex(4)}.partial"
    try:
        drawn = Drawn(used, stream_digest(case.stream, used), np.__version__)
        partial.mkdir(parents=True)
        try:
            _write(partial, KeptCase(SCHEMA, case.id, drawn, tuple(remarks), dict(runs)))
            shutil.rmtree(parent / name, ignore_errors=True)
            os.rename(partial, parent / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except (OSError, InputError) as error:
        raise InputError(f"{case.id}: its runs cannot be kept: {error}; leave out --keep-runs") from error
    return name


def _write(folder: Path, kept: KeptCase) -> None:
    arrays: Arrays = {}
    content = encode(to_plain(kept, "runs", arrays))
    convert(decode(content, DOCUMENT), _form(), DOCUMENT)  # What could not be read is not written.
    (folder / DOCUMENT).write_bytes(msgspec.json.format(content, indent=1) + b"\n")
    np.savez(folder / ARRAYS, **arrays)  # type: ignore[arg-type]
    write_digests(folder, FILES)


def read_case(folder: Path) -> KeptCase:
    """Read the runs of a problem; InputError if a file was changed, or is none of this version."""
    hold_digests(folder, FILES)
    kept: KeptCase = built(folder, DOCUMENT, _form(), lambda: load_arrays(folder / ARRAYS, 2 * LIMIT))
    for key, one in kept.runs.items():
        if one.run.iterations.dtype.kind not in "iu" or one.run.iterations.ndim != 1:
            raise InputError(f"{shortened(folder)}: the run {key} has no list of iterations")
    return kept


def hold_draws(kept: KeptCase, case: Case) -> None:
    """Raise InputError if this version of NumPy draws another index stream than the runs used."""
    drawn, most = kept.drawn, case.stream.length
    if drawn.blocks > most or stream_digest(case.stream, drawn.blocks) != drawn.sha256:
        raise InputError(
            f"{case.id}: NumPy {np.__version__} draws other coordinates than NumPy {drawn.numpy}, by which "
            "the runs were made; use that version"
        )


def built(folder: Path, name: str, form: Any, arrays: Callable[[], Arrays]) -> Any:
    """The record that a document in a folder holds, with its arrays; InputError if it is none."""
    where = f"{shortened(folder)}/{name}"
    values = decode(read_whole(folder / name, MOST_DOCUMENT, "kept runs", follow=False), where)
    said = values if isinstance(values, dict) else {}
    if said.get("schema") != SCHEMA:
        raise InputError(
            f"{where}: has schema version {said.get('schema')!r:.60}, but this version reads {SCHEMA}; use "
            f"the version of sstep-verify that wrote it ({said.get('version', 'unknown')!s:.60})"
        )
    try:
        return from_form(convert(values, form, where), arrays())
    except InputError:
        raise
    except (*MALFORMED, *MALFORMED_ARRAY, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{where}: cannot be read as kept runs: {one_line(repr(error))}") from error


@functools.cache
def _form() -> Any:
    return strict(KeptCase, {float: float | NotFinite, np.ndarray: Array}, tagged=True)
