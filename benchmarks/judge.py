"""Cost of judging every step: time of the judge over that of the bare run, and what the log adds.

Cells are those of microseconds.py, each with panels formed in every window and with a kept Gram matrix.
Times are processor times of one thread, so that others on the machine count less; ratios are taken within a
repeat. The kernel entries that the judge forms once for a data set and kernel stand apart. Usage:
``python benchmarks/judge.py --data DIR``.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import microseconds
import numpy as np
from threadpoolctl import threadpool_limits

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver

TARGET, LOG_TARGET = 3.0, 1.05


@dataclass(frozen=True)
class Cell:
    """One line: microseconds per iteration, ratios with their quartiles, seconds of set-up."""

    data: str
    kernel: str
    b: int
    s: int
    gram: str
    bare: float
    judge: float
    ratio: float
    ratio_low: float
    ratio_high: float
    log: float
    entries: float
    repeats: list[dict[str, float]]

    @property
    def mark(self) -> str:
        """Whether both targets are met."""
        return "met" if self.ratio <= TARGET and self.log <= LOG_TARGET else "MISSED"


def measure(problem: Problem, b: int, s: int, keep: bool, repeats: int, seconds: float) -> Cell:
    """Time one cell; steps are judged from kernel entries that are there."""
    most = max(microseconds.MOST_DRAWS // (s * b) // 16, 1)
    stream = IndexStream("uniform", problem.samples, b, most * s, microseconds.SEED)
    solver = ProductionSolver(keep_gram=keep, gram_limit=1 << 28)

    def run(count: int, log: bool = False):
        return solver.run(RunRequest(problem, stream, s, count * s, log=log))

    count = microseconds.calibrated(lambda windows: run(windows), most, seconds)
    case = Case("timed", problem, stream, (s,), count * s, solver.declaration)
    begin = process_time()
    judge = StepJudge(case, Oracle(problem))
    judged = judge.run(run(count, log=True))
    entries = process_time() - begin
    assert not judged.wrong.size
    rounds = []
    for _ in range(repeats):
        times = {}
        for name in ("bare", "logged", "bare again", "judge"):
            trajectory = run(count, log=True) if name == "judge" else None
            begin = process_time()
            if trajectory is None:
                run(count, log=name == "logged")
            else:
                judge.run(trajectory)
            times[name] = (process_time() - begin) / (count * s) * 1e6
        rounds.append(times)
    return summarise(problem, b, s, "kept" if keep else "fresh", entries, rounds)


def summarise(problem: Problem, b: int, s: int, gram: str, entries: float, rounds) -> Cell:
    """Medians over the repeats."""
    bare = np.array([(times["bare"] + times["bare again"]) / 2 for times in rounds])
    ratios = np.array([times["judge"] for times in rounds]) / bare
    low, ratio, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return Cell(
        problem.name, problem.kernel.name, b, s, gram, float(np.median(bare)),
        float(np.median([times["judge"] for times in rounds])), float(ratio), float(low), float(high),
        float(np.median([times["logged"] for times in rounds] / bare)), entries, rounds,
    )  # fmt: skip


HEADER = (
    f"{'data':<13}{'kernel':<11}{'b':>4}{'s':>4}  {'Gram':<7}{'bare run':>9}{'judge':>9}"
    f"{'judge / bare':>22}{'logged / bare':>15}{'entries, s':>12}  target {TARGET:g}, {LOG_TARGET:g}"
)


def line(cell: Cell) -> str:
    """One line of the table."""
    ratio = f"{cell.ratio:.2f} [{cell.ratio_low:.2f}, {cell.ratio_high:.2f}]"
    return (
        f"{cell.data:<13}{cell.kernel:<11}{cell.b:>4}{cell.s:>4}  {cell.gram:<7}{cell.bare:>9.2f}"
        f"{cell.judge:>9.2f}{ratio:>22}{cell.log:>15.3f}{cell.entries:>12.2f}  {cell.mark}"
    )


def main() -> int:
    chosen = microseconds.arguments()
    cells, digests = [], {}
    print("microseconds of processor time per iteration, medians; one BLAS thread")
    print(HEADER, flush=True)
    with threadpool_limits(1):
        for cell in microseconds.cells_of(chosen, digests, {}):
            for keep in (False, True):
                cells.append(measure(*cell, keep, chosen.repeats, chosen.seconds))
                print(line(cells[-1]), flush=True)
                gc.collect()
    out = Path(str(chosen.out).replace("microseconds", "judge"))
    microseconds.write(out, "judge", cells, digests, units="microseconds of processor time per iteration")
    met = sum(cell.mark == "met" for cell in cells)
    print(f"targets met in {met} of {len(cells)} cells; {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
