"""Judge the labelled set, and measure whether verdicts and failing sentences are right.

The sentence of a wrong solver is the one that the reason of its case names first. It is right if it is among
those of the label. Usage: ``python tests/labelled/measure.py [--profile ci] [--only TEXT]``; exit code 1 unless
recall and specificity are 1.00 and at least 90 % of the sentences right.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from c_solvers import c_solvers, compiler
from labelled_set import LABELLED, Labelled

from sstep_verify import Report, verify

SHARE = 0.9
"""Least share of right sentences."""


@dataclass(frozen=True)
class Found:
    """What a solver was found to be.

    Parameters
    ----------
    solver : Labelled
        The solver.
    passed : bool
        Whether its report is one of success.
    check : str
        Check and s of the verdict whose reason is that of the first failed case; empty of a PASS.
    sentences : tuple of str
        The sentences that it names.
    seconds : float
        Time it took.
    """

    solver: Labelled
    passed: bool
    check: str
    sentences: tuple[str, ...]
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the verdict is that of the label."""
        return self.passed == self.solver.right

    @property
    def named(self) -> bool:
        """Whether the first sentence is one of the label's."""
        return not self.passed and self.sentences[:1] != () and self.sentences[0] in self.solver.breaks

    @property
    def row(self) -> str:
        """One line of the table."""
        label, verdict = ("right" if self.solver.right else "wrong"), ("PASS" if self.passed else "FAIL")
        told = (
            f"{self.check:26} {' '.join(self.sentences) or '-':14} {' '.join(self.solver.breaks) or '-':18}"
        )
        judged = "ok" if self.right and (self.solver.right or self.named) else "NOT OK"
        return f"{self.solver.id:34} {label} {verdict} {told} {judged:6} {self.seconds:5.1f} s"


def found(solver: Labelled, profile: str) -> Found:
    """Judge one solver."""
    begin = time.perf_counter()
    made = solver.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        report = verify(made, solver.profile(profile), tasks=solver.tasks, kernels=solver.kernels)
    check, sentences = leading(report)
    return Found(solver, report.passed, check, sentences, time.perf_counter() - begin)


def leading(report: Report) -> tuple[str, tuple[str, ...]]:
    """Check and sentences of the verdict that gives the first failed case its reason."""
    for case in report.results.cases:
        for verdict in report.failures:
            check = f"{verdict['check']}, s = {verdict['s']}"
            if verdict["case"] == case.id and case.reason.startswith(f"{check}: "):
                return check, tuple(verdict["sentences"])
    return "", ()


def solvers(room: Path, only: str) -> Iterator[Labelled]:
    """The labelled set, or those whose id holds a text."""
    for one in (*LABELLED, *c_solvers(room)):
        if only in one.id:
            yield one


def summed_up(outcomes: list[Found]) -> tuple[str, bool]:
    """Recall, specificity and share of right sentences in words, and whether they are what they must be."""
    right = [one for one in outcomes if one.solver.right]
    wrong = [one for one in outcomes if not one.solver.right]
    seen, passed = sum(one.right for one in wrong), sum(one.right for one in right)
    named = sum(one.named for one in wrong)
    words = (
        f"{len(outcomes)} solvers, {len(right)} right and {len(wrong)} wrong: "
        f"recall {seen}/{len(wrong)}, specificity {passed}/{len(right)}, right sentences {named}/{len(wrong)}"
    )
    return words, seen == len(wrong) and passed == len(right) and named >= SHARE * len(wrong)


def main() -> int:
    """Judge the solvers asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=("smoke", "ci"), default="smoke")
    parser.add_argument("--only", default="", help="solvers whose id holds TEXT")
    asked = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as room:
        for solver in solvers(Path(room), asked.only):
            outcomes.append(found(solver, asked.profile))
            print(outcomes[-1].row, flush=True)
    words, good = summed_up(outcomes)
    if compiler() is None:
        print("the C/MPI solvers are left out: there is no cc, mpicc or mpiexec")
    print(words)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
