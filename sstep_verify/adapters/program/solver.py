"""A program as a solver: one run folder and one process for each run."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sstep_verify.adapters.callable import observed, record, start_vector
from sstep_verify.adapters.program.file import ProgramFile
from sstep_verify.adapters.program.folder import NUMBER_BYTES, Room, read_exchanged, read_printed
from sstep_verify.adapters.program.numbers import TEXT_BYTES, left_as, read_ranks
from sstep_verify.adapters.program.run import REFUSED, TAIL, Ended, cleared_before_the_end, execute
from sstep_verify.adapters.program.said import shortened
from sstep_verify.adapters.program.tables import places_of
from sstep_verify.adapters.program.translate import Translation
from sstep_verify.adapters.program.witness import (
    COUNTS,
    PANEL,
    by_kind,
    counted_by,
    read_counters,
    read_panels,
    read_places,
    read_witness,
    witness_names,
    witness_variables,
)
from sstep_verify.errors import (
    MACHINE,
    CommandError,
    NoResultError,
    NotMadeError,
    ProgramError,
    RefusedError,
    WitnessError,
    machine_error,
)
from sstep_verify.exchange import write_folder
from sstep_verify.problems.problem import fingerprint
from sstep_verify.protocol import Observer, RunRequest, adapter
from sstep_verify.ranks import SlowError
from sstep_verify.trajectory import Trajectory, Witnessed

ESCAPED = "processes that had left its process group were still running when it had ended, and were ended"

UNCOMPARED = f"{COUNTS} is compared with nothing, because the declaration names no exchange"

ANY = 0
"""Stands for every s."""


class ProgramSolver:
    """A program that is started for every run, and read by what it leaves; ``{np}`` says the ranks.

    `restarts` says whether it makes runs from any vector and any place of the stream, `scaled` and
    `as_given` what its conventions say of its numbers (`rounding.formulas.Formulas`); `remarks` are what is
    to be told of its runs besides verdicts, each once, until somebody clears it.
    """

    external = True

    def __init__(self, described: ProgramFile, ranks: int = 1):
        self.described, self._program, self._ranks = described, described.program, ranks
        self.declaration = described.declared(ranks)
        self.restarts = not described.from_zero and described.conventions.counts == "iterations"
        self.scaled = not described.conventions.exact
        self.as_given = described.conventions.data == "given"
        self._given_up: dict[int, ProgramError | SlowError] = {}
        self.remarks: dict[str, None] = {}
        self._long: dict[str, set[float]] = {}

    @adapter
    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Start the program once, or, if it leaves its final a only, once for every recorded iteration.

        RefusedError if it refuses this input, or cannot make this run; ProgramError if it fails, does not
        end in time, or leaves something that is no result. NotMadeError if its run folder cannot be written
        or read, for a reason that lies with the machine, if the disk has no room for a result, or if a
        launcher says that it did not start the program.
        """
        self._require_start(request)
        if self._program.writes == "final":
            return self._from_ends(request, observe)
        return observed(self._started(request), request, observe, self._started)

    def _from_ends(self, request: RunRequest, observe: Observer | None) -> Trajectory:
        """The ends of as many runs as iterations are recorded."""
        ends: list[Trajectory] = []

        def result(_alpha: np.ndarray, _begin: int, end: int) -> np.ndarray:
            ends.append(self._started(replace(request, iterations=end, record=(), log=False)))
            return ends[-1].final

        # Of a part of a nothing can be measured.
        part = self.described.final is not None and self.described.final.first > 0
        initial = start_vector(request, self.declaration.precision)
        made = record(request, initial, result, None if part else observe)
        exact, last = np.zeros((1, initial.size)), ends[-1] if ends else made
        errors = [exact, *(exact if end.rounding is None else end.rounding for end in ends)]
        return replace(
            made,
            counters=made.counters | last.counters,
            rounding=np.concatenate(errors) if self.described.rounded else None,
            known=last.known,
            fingerprints=last.fingerprints,
            seen=last.seen,
            received=last.received,
        )

    @cleared_before_the_end()
    def _started(self, request: RunRequest) -> Trajectory:
        """Start the program; what it left, of one that leaves its final a only the end alone."""
        for s in (request.s, ANY):
            if s in self._given_up:
                raise self._given_up[s]
        conventions = self.described.conventions
        taken, counted = conventions.of(request.problem), conventions.counted(request)
        try:
            room = Room()
        except OSError as error:
            raise machine_error(error, "making a run folder", os.environ.get("TMPDIR", "")) from error
        folder = room.folder
        try:
            self._write(request, folder, taken)
            ours = os.listdir(folder)
            places = places_of(request, folder, self._ranks, counted)
            words, variables = self._program.words(**places), self._program.variables(**places)
            if wrapper := self._program.witness:
                variables |= witness_variables(wrapper, self._program.fault_injection, folder)
            tail = TAIL + NUMBER_BYTES * request.problem.samples
            try:
                ended = self._executed(folder, words, variables, tail).with_place_of(str(folder))
            except SlowError as error:
                self._given_up[request.s] = error
                raise
            if ended.escaped:
                self.remarks[ESCAPED] = None
            try:
                return self._left(request, room, ended, taken, places, ours)
            except ProgramError as error:
                # A program that finds no room for its result fails by no fault of its own.
                room.require_space(self._result_bytes(request))
                error.said = ended.said
                if ended.timed_out or not ended.started:
                    self._given_up[request.s if ended.started else ANY] = error
                raise
        except OSError as error:
            raise machine_error(error, "the run folder of a program", folder) from error
        finally:
            if stays := room.clear():
                self.remarks[f"its folder cannot be removed, and stays: {stays}"] = None

    def _left(
        self,
        request: RunRequest,
        room: Room,
        ended: Ended,
        taken: Translation,
        places: dict[str, object],
        ours: Collection[str],
    ) -> Trajectory:
        """What the program left in its folder, besides the files that are `ours`."""
        described, folder = self.described, room.folder
        self._require_end(ended, folder)
        try:
            room.require_same()
            counters, seen, received = self._counted(folder)
            if described.final:
                left = read_printed(described.final, request, folder, ended, taken, places)
            else:
                initial = start_vector(request, self.declaration.precision)
                left = read_exchanged(described, request, initial, folder, ended, taken, self._long)
            if request.expose_panels and self.declaration.panels:
                drawn = request.blocks() if left.drawn is None else left.drawn
                left = replace(left, panels=read_panels(folder, request, drawn, described.conventions.rows))
            if ends := self._of_each_rank(folder, taken):
                left = _ended_as_rank_0(left, ends[0], self._program.writes, folder)
            witnessed = witness_names(folder) if self._program.witness else set()
            if others := room.others({*ours, *self._read_names(places), *witnessed}):
                self.remarks[f"it left what nobody reads or judges: {others}"] = None
        except OSError as error:
            if error.errno in MACHINE:
                raise
            raise NoResultError(f"left what cannot be read: {error}") from error
        return replace(
            left,
            timers={"run": ended.seconds},
            counters={"windows": -(-request.iterations // request.s)} | counters,
            seen=seen,
            received=received,
            fingerprints={request.iterations: tuple(map(fingerprint, ends))} if ends else {},
        )

    def _result_bytes(self, request: RunRequest) -> int:
        """Bytes that a result of a run may take, as text."""
        samples = request.problem.samples
        numbers = {
            "log": request.iterations * request.stream.block,
            "trace": len(request.stops) * samples,
            "final": samples,
        }
        return TEXT_BYTES * (numbers[self._program.writes] + self._ranks * samples)

    def _of_each_rank(self, folder: Path, taken: Translation) -> list[np.ndarray]:
        """The final a of every rank; of a program whose a is rounded none."""
        vectors = read_ranks(folder, self._ranks, len(taken.order))
        if self.described.rounded:
            return []
        own, places = np.argsort(taken.order), np.arange(len(taken.order))
        return [taken.ours(vector[own], places)[0] for vector in vectors]

    def _read_names(self, places: dict[str, object]) -> set[str]:
        """Names of all files that a run may leave and that are read."""
        ranks = range(self._ranks)
        numbers = ["log", "trace", "final", "indices", *(f"rank-{rank}" for rank in ranks)]
        return {
            *(f"{name}{end}" for name in numbers for end in (".bin", ".txt")),
            COUNTS, PANEL, self.described.final.name(places) if self.described.final else "",
        }  # fmt: skip

    def _write(self, request: RunRequest, folder: Path, taken: Translation) -> None:
        """The run folder, with a0 and coordinates as the program has them."""
        initial, own = start_vector(request, "float64"), self.described.stream
        if own and own.logged:  # The coordinates are the program's to write, also where we know them.
            request = replace(request, stream=replace(request.stream, drawn=""))
        blocks = taken.numbers(request.blocks()) if request.stream.known else None
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
                "it takes no start, or draws its own coordinates, so it starts from alpha = 0 at their "
                "beginning only; leave out checks that start elsewhere (sstep-verify check does)"
            )
        if own and not own.are_of(stream):
            raise RefusedError(
                f"it draws its own coordinates ({own}), but the run is to take those "
                f"of {stream.kind}, seed {stream.seed}"
            )

    def _counted(self, folder: Path) -> tuple[dict[str, int], Witnessed | None, np.ndarray | None]:
        """Counts that the program wrote down, or those of the witness, which must not contradict them."""
        told = read_counters(folder)
        if not self._program.witness:
            if told and self.declaration.exchange is None:
                self.remarks[UNCOMPARED] = None
            return told, None, None
        traffic, received = read_witness(folder, self._ranks)
        counts = counted_by(traffic)
        for name, count in counts.items():
            if told.get(name, count) != count:
                raise WitnessError(
                    f"counters.txt says {name} {told[name]}, but the witness counted {count}"
                    + f" ({by_kind(traffic)})" * (name == "collectives")
                )
        return told | counts, Witnessed(traffic), received

    def _require_end(self, ended: Ended, folder: Path) -> None:
        """Raise unless a run was made; OSError where a limit of this machine ended it.

        NotMadeError where a launcher says that it started nothing; it is a CommandError where no run of
        this command can be started.
        """
        if not ended.reason:
            return
        if ended.code == -signal.SIGXFSZ:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(folder))
        if ended.code == REFUSED and not ended.timed_out:
            raise RefusedError(ended.reason + ended.last_words)
        if told := ended.not_launched:
            where, words = f"program {self._program.name!r}: ", shortened([told.words])
            said = f"the launcher did not start the program ({words}), which is no error of the solver; "
            if told.program:
                raise CommandError(
                    f"{where}{said}{told.program!r} in its command is no executable file here; correct the "
                    "path, or build the program"
                )
            if told.of_command:
                raise CommandError(f"{where}{said}correct the command")
            raise NotMadeError(f"{said}change the command, or what it needs")
        raise ProgramError(ended.reason + self._places(ended, folder) + ended.last_words)

    def _places(self, ended: Ended, folder: Path) -> str:
        """Where the ranks of a run that failed were, as far as that is known; who failed is not guessed."""
        several = self._ranks > 1
        if self._program.witness and (several or ended.timed_out):
            return f"; {read_places(folder, self._ranks)}"
        if several and not ended.timed_out and ended.names_no_rank:
            return (
                f"; the end of its output names none of its {self._ranks} ranks: witness = 'mpicc' shows "
                "the last collective of each"
            )
        return ""


def _ended_as_rank_0(left: Trajectory, end: np.ndarray, writes: str, folder: Path) -> Trajectory:
    """A run with the alpha of rank 0 as its end, where nothing but a log says where it ended.

    The log must then lead there, as it must lead to a final alpha. It is a NoResultError if another file
    says that the run ended elsewhere: ranks that agree with each other are no incoherent ranks.
    """
    if writes == "log" and not left_as(folder, "final"):
        return replace(left, alphas=np.concatenate((left.alphas[:-1], end[None])))
    if (apart := np.flatnonzero(left.final != end)).size:
        place = apart[0]
        name = "final" if writes == "log" else writes
        raise NoResultError(
            f"rank-0 holds {float(end[place])!r} in alpha[{place}] at the end, but {name} holds "
            f"{float(left.final[place])!r}: one of them is wrong"
        )
    return left
