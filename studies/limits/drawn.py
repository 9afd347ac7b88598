"""Doses of errors in drawn problems: each FAILs, or its verdicts print no limit of the quantity below it.

The problems have what makes a clip decide: exact ties (C = K_ii, whole numbers), samples that occur twice,
rows of unit length, a soft threshold; a third of them are ordinary. A correct run is judged; its error in
each quantity is then made 1.01 and 3 times the limit that is printed, too large and too small, and of steps
larger still.

``python -m studies.limits.drawn --doses 20000 --seed 46 --table doses.tsv`` writes one row a dose, and
prints one line of counts. Problem k of a seed depends on both numbers only, so that a run which was ended
continues from its table.
"""

from __future__ import annotations

import argparse
import csv
import math
import runpy
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify import IndexStream, Verdict, quantities
from sstep_verify.checks import contract, step_replay, window_replay
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.floating_point import in_own_state
from sstep_verify.judging import judged_by
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import ExternalSolver
from sstep_verify.recurrence.mutation import NONE, off_by
from sstep_verify.verdict import Status
from studies import ROOT
from studies.limits.runs import DosedSolver

OWN_LOSS = runpy.run_path(str(ROOT / "examples" / "own_loss" / "epsilon_insensitive.py"))
"""A boxed loss with a lower end below 0 and a soft threshold."""

REPEATED = "krr, blocks with replacement"

LOSSES = {
    "svm-l1": Hinge,
    "svm-l2": SquaredHinge,
    "svr": OWN_LOSS["EpsilonInsensitive"],
    "krr": Ridge,
    REPEATED: Ridge,
}

EACH = 10
"""Doses a problem, drawn from all."""

CHECKS = (step_replay.ID, window_replay.ID)

FAILED, REFUSED, LARGER, FALSE = FOUND = "failed", "refused", "larger limit", "false"
"""What a dosed run came to: a FAIL of the check, a breakdown or refusal of the whole run, a limit of its
own above the dose, or a limit that is false."""


@dataclass(frozen=True)
class Dosed:
    """A dosed run of a drawn problem: the limit of the correct run, the error made, what it came to."""

    number: int
    problem: str
    s: int
    check: str
    quantity: str
    limit: float
    dose: float
    found: str
    own_limit: float


def drawn(rng: np.random.Generator, task: str) -> tuple[Problem, IndexStream, int]:
    """A problem, a stream and s."""
    m, n = int(rng.integers(4, 11)), int(rng.integers(1, 5))
    kind = rng.choice(["whole", "binary", "unit", "twice", "ties", "normal", "normal"])
    X = rng.standard_normal((m, n))
    if kind == "whole":
        X = rng.integers(-2, 3, size=(m, n)).astype(float)
    elif kind == "binary":
        X = (rng.random((m, n)) < 0.5).astype(float)
    elif kind == "unit":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif kind == "twice":
        X = np.repeat(X, 2, axis=0)[:m]
    elif kind == "ties":
        # Multiples of a few orthogonal rows of unit length, some a hair shorter: steps that end at C = 1.
        X = np.eye(m // 2)[rng.integers(0, m // 2, size=m)]
        X *= rng.choice([0.5, 1.0, 1.0, 1.0 - 1e-10, 2.0], size=(m, 1))
    kernels = [LinearKernel(), RBFKernel(0.5), RBFKernel(10.0), PolynomialKernel(2, 1.0)]
    kernel = kernels[int(rng.integers(len(kernels)))]
    loss = LOSSES[task](float(rng.choice([0.25, 1.0, 1.0, 2.0, rng.random() + 0.1])))
    labelled = task.startswith("svm")
    targets = rng.choice([-1.0, 1.0], size=m) if labelled else X[:, 0] + rng.integers(0, 2, size=m)
    problem = Problem(f"{kind} {task}", X, targets, kernel, loss)
    block, repeated = 1, task == REPEATED
    if problem.loss.task == "krr":
        block = int(rng.integers(1 + repeated, (m if repeated else min(m, 3)) + 1))
    length, s = int(rng.integers(4, 14)), int(rng.integers(1, 6))
    order, seed = "mt19937" if repeated else "uniform", int(rng.integers(1 << 30))
    return problem, IndexStream(order, m, block, length, seed=seed, replacement=repeated), s


@in_own_state
def verdicts_of(
    solver: DosedSolver, problem: Problem, stream: IndexStream, s: int, checks: Sequence[str] = CHECKS
) -> dict[str, Verdict]:
    """The verdicts of the checks by name; none where the run is refused or breaks down.

    What reproduces a failed run is not searched for, which takes two thirds of a judgement.
    """
    case = Case(problem.name, problem, stream, (s,), stream.length, solver.declaration, diagnose=False)
    try:
        found = judged_by({"": ExternalSolver(solver)}, case, *checks_of((contract.ID, *checks)))
    except (SingularSystemError, ZeroDivisionError):
        return {}
    if any(one.status is Status.FAIL for one in found if one.check not in checks):
        return {}
    return {one.check: one for one in found if one.check in checks}


def limit_of(verdict: Verdict, name: str) -> float:
    """The limit that a verdict prints of a quantity; infinite where it prints none."""
    return next((term.detection_limit for term in verdict.terms if term.name == name), math.inf)


def doses(limit: float, name: str, times: float) -> list[Fraction]:
    """Errors of so many times a limit, of either sign, as a factor in float64 has them.

    A leak is the error. Rounded to a factor they may be smaller than the limit: those are left out.
    """
    sizes = [sign * times * limit for sign in (1, -1)]
    if name == quantities.LOWER:
        made = [Fraction(size) for size in sizes if size > 0.0]
    else:
        made = [Fraction(1.0 + size) - 1 for size in sizes if size > -1.0]
    return [dose for dose in made if abs(dose) >= limit]


def planned_doses(
    right: dict[str, Verdict], problem: Problem, rng: np.random.Generator
) -> Iterator[tuple[str, str, float, Fraction]]:
    """Check, quantity, limit and error of every dose that the verdicts on a correct run ask for."""
    flat = problem.kernel.linear and not problem.dense.any(axis=1).all()
    for check, verdict in right.items():
        assert verdict.status is not Status.FAIL, (problem.label, verdict.reason)
        larger = [10.0 ** int(rng.integers(1, 12))] if check == step_replay.ID else []
        for term in verdict.terms:
            limit = term.detection_limit
            assert term.seen or limit >= 1.0 or (flat and term.name == quantities.UPPER), (check, term)
            if off_by(term.name, Fraction(0)) is not None and limit < math.inf:
                for times in (1.01, 3.0, *larger):
                    yield from ((check, term.name, limit, dose) for dose in doses(limit, term.name, times))


def dosed_runs(seed: int, number: int, task: str, checks: Sequence[str] = CHECKS) -> Iterator[Dosed]:
    """The dosed runs of a drawn problem of a task."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, number))))
    problem, stream, s = drawn(rng, task)
    solver = DosedSolver(problem, "float64")
    planned = list(planned_doses(verdicts_of(solver, problem, stream, s, checks), problem, rng))
    for place in rng.permutation(len(planned))[:EACH].tolist():
        check, name, limit, dose = planned[place]
        dosed = solver.with_dose(off_by(name, dose) or NONE)
        verdicts = verdicts_of(dosed, problem, stream, s, (check,))
        own, found = math.inf, REFUSED
        if verdicts:
            own = limit_of(verdicts[check], name)
            found = LARGER if own > abs(dose) else FALSE
            if verdicts[check].status is Status.FAIL:
                found = FAILED
        yield Dosed(number, problem.label, s, check, name, limit, float(dose), found, own)


def kept_rows(table: Path) -> list[dict[str, str]]:
    """The rows of a table without those of its last problem, which may be cut off, as a row may be."""
    if not table.exists():
        return []
    whole, _, _ = table.read_text("utf-8").rpartition("\n")
    rows = list(csv.DictReader(whole.splitlines(), delimiter="\t"))
    return [row for row in rows if row["number"] != rows[-1]["number"]]


def study(most: int, seed: int, table: Path) -> Counter[str]:
    """Make at least so many doses, of all losses in turn, and write a row of each.

    Returns the number of doses by what they came to.
    """
    kept = kept_rows(table)
    counts = Counter(row["found"] for row in kept)
    first = int(kept[-1]["number"]) + 1 if kept else 0
    with table.open("w", newline="", encoding="utf-8") as held:
        names = [field.name for field in fields(Dosed)]
        writer = csv.DictWriter(held, names, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        for number in count(first):
            if counts.total() >= most:
                return counts
            runs = list(dosed_runs(seed, number, [*LOSSES][number % len(LOSSES)]))
            counts.update(one.found for one in runs)
            writer.writerows(map(asdict, runs))
            held.flush()
    raise AssertionError  # never reached: numbers do not end


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the study that a command line asks for, print its counts; 1 where a limit is false."""
    parser = argparse.ArgumentParser(description="Try printed detection limits with doses of errors.")
    parser.add_argument("--doses", type=int, default=20_000, help="least number of doses")
    parser.add_argument("--seed", type=int, default=46, help="seed of the drawn problems")
    parser.add_argument("--table", type=Path, required=True, help="file of one row a dose")
    given = parser.parse_args(arguments)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # Large doses divide by 0 and overflow.
        counts = study(given.doses, given.seed, given.table)
    print(f"{counts.total()} doses: " + ", ".join(f"{counts[one]} {one}" for one in FOUND))
    return int(counts[FALSE] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
