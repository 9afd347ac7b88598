"""A program as a solver: one exchange folder and one process for each run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.errors import ProgramError, RefusedError
from sstep_verify.exchange import write_folder
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.solvers.adapters.program.execute import REFUSED, TAIL, Ended, execute
from sstep_verify.solvers.adapters.program.file import ProgramFile
from sstep_verify.solvers.adapters.program.left import Left, read_left
from sstep_verify.solvers.adapters.program.places import places_of
from sstep_verify.solvers.adapters.program.printed import NUMBER_BYTES
from sstep_verify.solvers.adapters.program.probes import FILE as PROBES
from sstep_verify.solvers.adapters.program.probes import Probed, read_probes
from sstep_verify.solvers.adapters.program.results import COUNTS, read_counters, read_ranks
from sstep_verify.solvers.adapters.program.room import Room
from sstep_verify.solvers.adapters.program.translation import Translation
from sstep_verify.solvers.adapters.program.witness import Witness
from sstep_verify.solvers.adapters.recording import observed, record, start_vector
from sstep_verify.trajectory import WITNESSED, Trajectory, fingerprint

ESCAPED = "processes that had left its process group were still running when it had ended, and were ended"

ANY = 0
"""Stands for every s."""


class ProgramSolver:
    """A program that is started for every run, and read by what it leaves.

    Parameters
    ----------
    described : ProgramFile
        How it is started, and what it declares.
    ranks : int
        Number of ranks that ``{np}`` of its command says.

    Attributes
    ----------
    remarks : dict of str to None
        What is to be told of its runs beside verdicts, each once, until somebody clears it.
    """

    foreign = True

    def __init__(self, described: ProgramFile, ranks: int = 1):
        self.described, self._program, self._ranks = described, described.program, ranks
        self.declaration = described.declared(ranks)
        self._made_witness: Witness | None = None
        self._given_up: dict[int, ProgramError] = {}
        self._received: np.ndarray | None = None
        self._ranks_left: tuple[str, ...] = ()
        self.remarks: dict[str, None] = {}
        self._long: dict[str, set[float]] = {}

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Start the program once, or, if it leaves its final a only, once for every recorded iteration.

        Raises
        ------
        RefusedError
            If it refuses this input, or cannot make this run.
        ProgramError
            If it fails, does not end in time, or leaves something that is no result.
        """
        self._require_start(request)
        initial = start_vector(request, self.declaration.precision)
        if self._program.writes == "final":
            return self._from_ends(request, initial, observe)
        whole = self._made(request, initial)
        return observed(whole, request, observe, lambda again: self._made(again, initial))

    def _from_ends(self, request: RunRequest, initial: np.ndarray, observe: Observer | None) -> Trajectory:
        """The ends of as many runs as iterations are recorded."""
        errors = [np.zeros_like(initial)]
        ends: list[Left] = []

        def result(_alpha: np.ndarray, _begin: int, end: int) -> np.ndarray:
            left = self._left(replace(request, iterations=end, record=(), log=False))
            ends.append(left)
            errors.append(errors[0] if left.rounding is None else left.rounding)
            assert left.final is not None
            return left.final

        # Of a part of a nothing can be measured.
        part = self.described.final is not None and self.described.final.first > 0
        made = record(request, initial, result, None if part else observe)
        counters = made.counters | (self._counters if ends else {})
        known = ends[0].known if ends else None
        rounding = np.array(errors) if self.described.rounded else None
        return replace(
            made, counters=counters, rounding=rounding, known=known, **self._of_ranks(made.length)
        )

    def _made(self, request: RunRequest, initial: np.ndarray) -> Trajectory:
        """One run that leaves a log or a trace."""
        left, stops, rounding = self._left(request), request.stops, None
        if left.trace is not None:
            alphas, rounding = left.trace, left.rounding
        else:
            assert left.log is not None
            blocks = self._blocks(request) if left.drawn is None else left.drawn
            alphas = _followed(initial, blocks, left.log, stops)
            if left.rounding is not None:
                rounding = _followed(np.zeros_like(initial), blocks, left.rounding, stops)
            if left.final is not None:
                alphas[-1] = left.final
        counters = {"windows": -(-request.iterations // request.s)} | self._counters
        return Trajectory(
            s=request.s,
            start=request.start,
            iterations=np.array(stops, dtype=np.int64),
            alphas=alphas,
            counters=counters,
            timers={"run": self._seconds},
            log=left.log if request.log and not self.described.rounded else None,
            rounding=rounding,
            drawn=left.drawn,
            panels=left.probed.panels,
            probes=left.probed.probes,
            **self._of_ranks(request.iterations),
        )

    def _of_ranks(self, length: int) -> dict[str, Any]:
        """Fields of a trajectory that tell the ranks of the last run apart."""
        digests = {length: self._ranks_left} if self._ranks_left else {}
        return {"fingerprints": digests, "received": self._received}

    def _of_each_rank(self, folder: Path, taken: Translation) -> tuple[str, ...]:
        """Fingerprints of the final a of every rank; of a program whose a is rounded none."""
        vectors = read_ranks(folder, self._ranks, len(taken.order))
        if self.described.rounded:
            return ()
        own, places = np.argsort(taken.order), np.arange(len(taken.order))
        return tuple(fingerprint(taken.ours(vector[own], places)[0]) for vector in vectors)

    @staticmethod
    def _blocks(request: RunRequest) -> np.ndarray:
        return request.stream.blocks(request.start, request.start + request.iterations)

    def _left(self, request: RunRequest) -> Left:
        """Start the program; what it left."""
        for s in (request.s, ANY):
            if s in self._given_up:
                raise self._given_up[s]
        conventions = self.described.conventions
        taken, counted = conventions.of(request.problem), conventions.counted(request)
        room = Room()
        folder = room.folder
        try:
            self._write(request, folder, taken)
            ours = os.listdir(folder)
            places = places_of(request, folder, self._ranks, counted)
            words, variables = self._program.words(**places), self._program.variables(**places)
            if self._witness:
                variables |= self._witness.variables(folder)
            tail = TAIL + NUMBER_BYTES * request.problem.samples
            ended = self._executed(folder, words, variables, tail)
            if ended.escaped:
                self.remarks[ESCAPED] = None
            self._require_end(ended, request.s, folder)
            room.require_same()
            self._seconds, self._counters = ended.seconds, self._counted(folder)
            left = read_left(self.described, request, folder, ended, taken, places, self._long)
            left = replace(left, probed=self._probed(folder, request, left.drawn))
            self._ranks_left = self._of_each_rank(folder, taken)
            if others := room.others({*ours, *self._read_names(places)}):
                self.remarks[f"it left what nobody reads or judges: {others}"] = None
            return left
        finally:
            if stays := room.clear():
                self.remarks[f"its folder cannot be removed, and stays: {stays}"] = None

    def _read_names(self, places: dict[str, object]) -> set[str]:
        """Names of all files that a run may leave and that are read."""
        ranks = range(self._ranks)
        numbers = ["log", "trace", "final", "indices", *(f"rank-{rank}" for rank in ranks)]
        found = {f"{name}{end}" for name in numbers for end in (".bin", ".txt")} | {COUNTS, PROBES}
        seen = ("witness-{}.txt", "place-{}.txt", "received-{}.bin") if self._witness else ()
        found |= {name.format(rank) for name in seen for rank in ranks}
        own = self.described.final
        return found | {own.file.removeprefix("{dir}/").format(**places)} if own else found

    def _probed(self, folder: Path, request: RunRequest, drawn: np.ndarray | None) -> Probed:
        wanted = request.expose_panels and self.declaration.panels
        if not wanted and not (request.probes and self.declaration.probes):
            return Probed()
        blocks = self._blocks(request) if drawn is None else drawn
        return read_probes(folder, request, blocks, self.described.conventions.panel)

    def _write(self, request: RunRequest, folder: Path, taken: Translation) -> None:
        """The exchange folder, with a0 and coordinates as the program has them."""
        initial, own = start_vector(request, "float64"), self.described.stream
        if (
            own and own.logged
        ):  # The coordinates are the program's to write, also where we know them by now.
            request = replace(request, stream=replace(request.stream, drawn=""))
        blocks = taken.numbers(self._blocks(request)) if request.stream.known else None
        log = self._program.writes == "log"
        write_folder(request, folder, log, blocks=blocks, initial=taken.theirs(initial))

    def _executed(self, folder: Path, words: list[str], variables: Mapping[str, str], tail: int) -> Ended:
        """How the program ended; its results lie in the folder then."""
        return execute(words, self._program.time_limit, self._program.memory, variables, tail)

    def _require_start(self, request: RunRequest) -> None:
        """Raise RefusedError for a run that the program cannot make."""
        own, stream, known = self.described.stream, request.stream, self._program.s
        if known and request.s not in known:
            raise RefusedError(
                f"it knows s = {', '.join(map(str, known))}, but the run is of s = {request.s}"
            )
        if self.described.from_zero and (request.first.any() or (own and request.start)):
            raise RefusedError(
                "it takes no a0, or draws its own coordinates, so it starts from a = 0 at their beginning "
                "only; leave out checks that start elsewhere (sstep-verify check does)"
            )
        if own and not own.are_of(stream):
            raise RefusedError(
                f"it draws its own coordinates ({own}), but the run is to take those "
                f"of {stream.kind}, seed {stream.seed}"
            )

    @property
    def _witness(self) -> Witness | None:
        """The witness, built when it is first wanted."""
        if self._made_witness is None and self._program.witness:
            self._made_witness = Witness(self._program.witness, self._program.nemesis)
        return self._made_witness

    def _counted(self, folder: Path) -> dict[str, int]:
        """Counts that the program wrote down, or those of the witness, which must not contradict them."""
        told = read_counters(folder)
        if self._witness is None:
            return told
        seen = self._witness.seen(folder, self._ranks)
        self._received = seen.received
        for name, count in seen.counters.items():
            if told.get(name, count) != count:
                raise ProgramError(
                    f"counters.txt says {name} {told[name]}, but the witness counted {count}"
                )
        return told | seen.counters | {WITNESSED[name]: count for name, count in seen.counters.items()}

    def _require_end(self, ended: Ended, s: int, folder: Path) -> None:
        """Raise unless a run was made; one that hangs, or cannot be started, is not tried over and over."""
        if not ended.reason:
            return
        told = f"; its last words: {ended.told}" if ended.told else "; it said nothing"
        if ended.code == REFUSED and not ended.timed_out:
            raise RefusedError(ended.reason + told)
        places = f"; {Witness.places(folder, self._ranks)}" if ended.timed_out and self._witness else ""
        error = ProgramError(ended.reason + places + told)
        if ended.timed_out or not ended.started:
            self._given_up[s if ended.started else ANY] = error
        raise error


def _followed(initial: np.ndarray, blocks: np.ndarray, log: np.ndarray, stops: list[int]) -> np.ndarray:
    """The dual vector at some iterations, from the first and a log; shape (k, m)."""
    alpha, found, begin = initial.copy(), [], 0
    for stop in stops:
        for step in range(begin, stop):
            alpha[blocks[step]] = log[step]
        found.append(alpha.copy())
        begin = stop
    return np.array(found)
