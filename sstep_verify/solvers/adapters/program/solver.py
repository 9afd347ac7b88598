"""A program as a solver: one exchange folder and one process for each run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sstep_verify.errors import RefusedError
from sstep_verify.exchange import write_folder
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.solvers.adapters.program.description import ProgramFile
from sstep_verify.solvers.adapters.program.execute import REFUSED, TAIL, Ended, execute
from sstep_verify.solvers.adapters.program.results import (
    Numbers,
    ProgramError,
    printed_numbers,
    read_counters,
    read_numbers,
)
from sstep_verify.solvers.adapters.program.witness import Witness
from sstep_verify.solvers.adapters.recording import observed, record, start_vector
from sstep_verify.trajectory import Trajectory

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
    """

    foreign = True

    def __init__(self, described: ProgramFile, ranks: int = 1):
        self.described, self._program, self._ranks = described, described.program, ranks
        self.declaration = described.declared(ranks)
        self._made_witness: Witness | None = None
        self._given_up: dict[int, ProgramError] = {}

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Start the program once, or, if it leaves its final a only, once for every recorded iteration.

        Raises
        ------
        RefusedError
            If it refuses this input.
        ProgramError
            If it fails, does not end in time, or leaves something that is no result.
        """
        self._require_start(request)
        initial = start_vector(request, self.declaration.precision)
        if self._program.writes != "final":
            whole = self._made(request, initial)
            return observed(whole, request, observe, lambda again: self._made(again, initial))

        errors = [np.zeros_like(initial)]

        def result(_alpha: np.ndarray, _begin: int, end: int) -> np.ndarray:
            left = self._left(replace(request, iterations=end, record=(), log=False))
            errors.append(left.get("rounding", errors[0]))
            return left["final"].reshape(initial.shape)

        made = record(request, initial, result, observe)
        counters = made.counters | (self._counters if made.length else {})
        return replace(made, counters=counters, rounding=np.array(errors) if self.described.final else None)

    def _made(self, request: RunRequest, initial: np.ndarray) -> Trajectory:
        """One run that leaves a log or a trace."""
        left, stops = self._left(request), request.stops
        log = left.get("log")
        if "trace" in left:
            alphas = left["trace"]
        else:
            blocks = request.stream.blocks(request.start, request.start + request.iterations)
            alphas = _followed(initial, blocks, left["log"], stops)
            if "final" in left:
                alphas[-1] = left["final"].reshape(-1)
        counters = {"windows": -(-request.iterations // request.s)} | self._counters
        return Trajectory(
            s=request.s,
            start=request.start,
            iterations=np.array(stops, dtype=np.int64),
            alphas=alphas,
            counters=counters,
            timers={"run": self._seconds},
            log=log if request.log else None,
        )

    def _left(self, request: RunRequest) -> dict[str, np.ndarray]:
        """Start the program; the numbers it left, by name."""
        kind = self._program.writes
        for s in (request.s, ANY):
            if s in self._given_up:
                raise self._given_up[s]
        folder = Path(tempfile.mkdtemp(prefix="sstep-verify-run-"))
        try:
            write_folder(request, folder, kind == "log")
            words = self._program.words(**places_of(request, folder, self._ranks))
            variables = self._witness.variables(folder) if self._witness else None
            tail = TAIL + 64 * request.problem.samples
            ended = self._executed(folder, words, variables or {}, tail)
            self._require_end(ended, request.s)
            self._seconds, self._counters = ended.seconds, self._counted(folder)
            samples, block = request.problem.samples, request.stream.block
            if self.described.final:
                values, rounding = printed_numbers(ended.output, self.described.final.after, samples)
                return {"final": values, "rounding": rounding}
            shapes = {
                "log": (request.iterations, block),
                "trace": (len(request.stops), samples),
                "final": (samples,),
            }
            found = {name: read_numbers(folder, name, shape) for name, shape in shapes.items()}
            held = {name: numbers for name, numbers in found.items() if numbers is not None}
            if kind not in held:
                raise ProgramError(_without(kind, list(held), ended))
            return {name: _exact(name, numbers) for name, numbers in held.items()}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _executed(self, folder: Path, words: list[str], variables: Mapping[str, str], tail: int) -> Ended:
        """How the program ended; its results lie in the folder then."""
        return execute(words, self._program.time_limit, self._program.memory, variables, tail)

    def _require_start(self, request: RunRequest) -> None:
        """Raise RefusedError for a run that a program with draws of its own cannot make."""
        own, stream = self.described.stream, request.stream
        if own is None:
            return
        if request.start or (request.initial is not None and request.initial.any()):
            raise RefusedError(
                "it draws its own coordinates, so it starts from a = 0 at their beginning only; leave out "
                "checks that start elsewhere (sstep-verify check does)"
            )
        if (stream.kind, stream.seed, stream.relabel) != (own.kind, own.seed, None):
            raise RefusedError(
                f"it draws its own coordinates ({own.kind}, seed {own.seed}), but the run is to take those "
                f"of {stream.kind}, seed {stream.seed}"
            )

    @property
    def _witness(self) -> Witness | None:
        """The witness, built when it is first wanted."""
        if self._made_witness is None and self._program.witness:
            self._made_witness = Witness(self._program.witness)
        return self._made_witness

    def _counted(self, folder: Path) -> dict[str, int]:
        """Counts that the program wrote down, or those of the witness, which must not contradict them."""
        told = read_counters(folder)
        if self._witness is None:
            return told
        seen = self._witness.counts(folder, self._ranks)
        for name, count in seen.items():
            if told.get(name, count) != count:
                raise ProgramError(
                    f"counters.txt says {name} {told[name]}, but the witness counted {count}"
                )
        return told | seen

    def _require_end(self, ended: Ended, s: int) -> None:
        """Raise unless a run was made; one that hangs, or cannot be started, is not tried over and over."""
        if not ended.reason:
            return
        told = f"; its last words: {ended.told}" if ended.told else "; it said nothing"
        if ended.code == REFUSED and not ended.timed_out:
            raise RefusedError(ended.reason + told)
        error = ProgramError(ended.reason + told)
        if ended.timed_out or not ended.started:
            self._given_up[s if ended.started else ANY] = error
        raise error


def places_of(request: RunRequest, folder: Path, ranks: int) -> dict[str, object]:
    """What stands for each of `PLACES` in the command of a run."""
    problem, stream = request.problem, request.stream
    kernel, loss = problem.kernel, problem.loss
    given = {name: getattr(kernel, name, 0) for name in ("sigma", "degree", "offset")}
    return {
        "dir": os.fspath(folder), "np": ranks, "s": request.s, "b": stream.block, "H": request.iterations,
        "m": problem.samples, "n": problem.features, "data": os.fspath(folder / "data.svm"),
        "task": loss.task, "kernel": kernel.name, **given, "parameter": given["sigma"] or given["degree"],
        "C": loss.parameter, "lambda": loss.parameter, "penalty": loss.parameter, "seed": stream.seed,
    }  # fmt: skip


def _followed(initial: np.ndarray, blocks: np.ndarray, log: np.ndarray, stops: list[int]) -> np.ndarray:
    """The dual vector at some iterations, from the first and a log; shape (k, m)."""
    alpha, found, begin = initial.copy(), [], 0
    for stop in stops:
        for step in range(begin, stop):
            alpha[blocks[step]] = log[step]
        found.append(alpha.copy())
        begin = stop
    return np.array(found)


def _exact(name: str, numbers: Numbers) -> np.ndarray:
    if not numbers.exact:
        raise ProgramError(
            f"{name} is printed with at most {numbers.digits} significant digits, but bounds are for exact "
            "values; print with %.17g or %a, or write float64 to a .bin file"
        )
    return numbers.values


def _without(kind: str, held: list[str], ended: Ended) -> str:
    told = f"; its last words: {ended.told}" if ended.told else "; it said nothing"
    beside = f" (but {', '.join(held)})" if held else ""
    return f"ended with exit code 0 and left no {kind}.bin or {kind}.txt{beside}{told}"
