"""Somebody's program with the interposer before it: seconds and collectives of an iteration.

A run's time holds start-up, reading and writing too. So each sample is two runs, a short and a long one,
from MPI_Init to MPI_Finalize on the interposer's clock: what the longer takes more, over the iterations
that it makes more, is an iteration's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sstep_verify.adapters.program import ProgramFile, ProgramSolver, set_up
from sstep_verify.adapters.program.run import Ended
from sstep_verify.adapters.program.tables import named_places
from sstep_verify.errors import InputError, ProgramError
from sstep_verify.files import read_whole
from sstep_verify.problems import IndexStream, Problem, loss_from
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks.interposer import DELAY
from sstep_verify.timing.measure import Delay, Sample, of_collectives
from sstep_verify.timing.ranks import SEED, Wanted

WRAPPER = "mpicc"
"""Compiler wrapper of its MPI, unless the program names another."""

PILOT_SECONDS = 0.2
"""The pilot's longer run doubles its length until it takes so much longer than the short one."""

DOUBLINGS = 4
"""Times at most that a segment is made longer which took less than half of what was asked for."""

FEWEST, MOST = 2, 1 << 20
"""Windows that the longer run makes more."""


class DelayedProgram(ProgramSolver):
    """A program whose collectives are late, and whose time is taken.

    `delay` is that of the runs to come; `seconds` are those from MPI_Init to MPI_Finalize in the last one,
    of the slowest rank.
    """

    delay = Delay()
    seconds = math.nan

    def _executed(self, folder: Path, words: list[str], variables: Mapping[str, str], tail: int) -> Ended:
        late = f"{self.delay.microseconds!r} {self.delay.per_byte!r}"
        ended = super()._executed(folder, words, {**variables, DELAY: late}, tail)
        found = [
            float(read_whole(path, 64, "seconds of a rank", follow=False))
            for path in folder.glob("seconds-*.txt")
        ]
        self.seconds = max(found, default=math.nan)
        return ended


class SomeProgram:
    """A program that is to solve a problem in steps of b coordinates.

    InputError if it cannot be told an s, has something else fixed than the problem, or its set-up fails.
    """

    def __init__(self, described: ProgramFile, problem: Problem, block: int = 1):
        require_s(described)
        require_fixed(described, problem, block)
        program = replace(described.program, witness=described.program.witness or WRAPPER)
        self._described, self._problem = replace(described, program=program), problem
        own = described.stream
        kind, seed, replacement = (own.kind, own.seed, own.replacement) if own else ("uniform", SEED, False)
        self._stream = IndexStream(kind, problem.samples, block, 1, seed, replacement=replacement)
        self.name = program.name
        self._solvers: dict[int, DelayedProgram] = {}
        self._seconds: dict[tuple[int, int], float] = {}
        set_up(described.program)  # A witness that nobody named is made when a run needs it.

    def knows(self, s: int) -> bool:
        """Whether it can run with this s."""
        return not self._described.program.s or s in self._described.program.s

    def sample(self, s: int, ranks: int, delay: Delay, seconds: float) -> Sample:
        """What a longer run takes more than a short one, of about so many seconds."""
        if (s, ranks) not in self._seconds:
            self._seconds[s, ranks] = self._pilot(s, ranks)
        one = self._seconds[s, ranks] + delay.microseconds * 1e-6 * (ranks > 1)
        windows = min(max(math.ceil(seconds / one), FEWEST), MOST)
        for _ in range(DOUBLINGS):
            sample = self._difference(s, ranks, delay, windows)
            if sample.seconds * s * windows >= 0.5 * seconds or windows == MOST:
                break
            # The pilot was disturbed, or one of the two runs.
            windows = min(2 * windows, MOST)
        return sample

    def _pilot(self, s: int, ranks: int) -> float:
        """Seconds of a window at no delay, roughly."""
        windows = FEWEST
        while True:
            seconds = self._difference(s, ranks, Delay(), windows).seconds * s * windows
            if seconds > PILOT_SECONDS or windows >= MOST:
                return max(seconds, 1e-9) / windows
            windows *= 4

    def _difference(self, s: int, ranks: int, delay: Delay, windows: int) -> Sample:
        short, longer = (self._run(s, ranks, delay, count) for count in (1, 1 + windows))
        return Sample(*((more - less) / (windows * s) for less, more in zip(short, longer, strict=True)))

    def _run(self, s: int, ranks: int, delay: Delay, windows: int) -> tuple[float, float, float]:
        """Seconds, collectives and words of a whole run."""
        solver, length = self._solver(ranks), windows * s
        solver.delay = delay
        stream = replace(self._stream, length=length)
        log = self._described.program.writes == "log"
        run = solver.run(RunRequest(self._problem, stream, s, length, log=log))
        if not math.isfinite(solver.seconds):
            raise ProgramError("no rank left its seconds: the program does not end by MPI_Finalize")
        assert run.seen is not None  # Its witness is always named.
        return solver.seconds, *of_collectives(run.seen.traffic)

    def _solver(self, ranks: int) -> DelayedProgram:
        if ranks > 1 and not self._described.program.takes_ranks:
            raise InputError(
                f"program {self.name!r}: nothing in its command says how many ranks there are, so it "
                f"cannot run on {ranks}; write {{np}} where the number stands"
            )
        if ranks not in self._solvers:
            self._solvers[ranks] = DelayedProgram(self._described, ranks)
        return self._solvers[ranks]


def require_s(described: ProgramFile) -> None:
    """Raise InputError for a program that cannot be told how many iterations a window has."""
    program = described.program
    told = [
        place for text in (*program.command, *program.environment.values()) for place in named_places(text)
    ]
    if "s" not in told and "dir" not in told:
        raise InputError(
            f"program {program.name!r}: it takes no s: its command holds neither {{s}} nor {{dir}}, whose "
            "problem.txt says it; classical and s-step runs of it cannot be distinguished"
        )
    if "H" not in told and "dir" not in told:
        raise InputError(
            f"program {program.name!r}: its command holds neither {{H}} nor {{dir}}, so its runs cannot be "
            "made longer; that is how an iteration is timed"
        )
    if program.s == (1,):
        raise InputError(f"program {program.name!r}: it knows s = 1 alone, so there is nothing to compare")


def as_fixed(described: ProgramFile, wanted: Wanted) -> Wanted:
    """What is solved, with the parameters that the program has fixed."""
    loss = loss_from(wanted.loss.task, *described.penalty(wanted.loss.task))
    return wanted._replace(kernel=described.kernel(wanted.kernel), loss=loss)


def require_fixed(described: ProgramFile, problem: Problem, block: int) -> None:
    """Raise InputError for a program that would solve another problem than the one that is timed."""
    fixed, task, kernel = described.fixed, problem.loss.task, problem.kernel.name
    wrong = {
        f"--task {task}": task not in described.names("task"),
        f"--kernel {kernel}": kernel not in described.names("kernel"),
        f"b = {block}": fixed.get("b", block) != block,
        "data of this size": bool(described.misfit(problem.samples, problem.features)),
        "runs of other lengths": "H" in fixed,
    }
    for what, is_wrong in wrong.items():
        if is_wrong:
            raise InputError(f"program {described.program.name!r}: [fixed] leaves no room for {what}")
