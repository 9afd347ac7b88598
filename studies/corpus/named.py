"""How often the true mistake is named: the labelled set on one small problem, by the class of each FAIL.

Run as ``python -m studies.corpus.named [NAME ...]``: it prints in how many FAILs the true mistake is in the class of
mistakes that are named, in how many alone, and those where it is not. A run that an error
ended is left out: nothing of it can be explained.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sstep_verify import judge
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from
from sstep_verify.verdict import Status
from studies.corpus.labelled import Made
from studies.corpus.mistakes import RARE, WRONG

SAMPLES, ITERATIONS = 9, 30


@dataclass(frozen=True)
class Named:
    """A FAIL of a labelled solver by a check, and the class of mistakes that it names."""

    solver: Made
    s: int
    check: str
    named: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the true mistake is in the class."""
        return bool(set(self.named) & set(self.solver.named))

    @property
    def alone(self) -> bool:
        """Whether it is there alone, by whatever name."""
        return self.right and len(self.named) == 1


def problem_of(task: str, kernel: str) -> Problem:
    """The small problem of a task and a kernel: two equal samples, a sample with zeros, both classes."""
    generator = np.random.Generator(np.random.PCG64(11))
    data = generator.standard_normal((SAMPLES, 4))
    data[3], data[6, 1:3] = data[5], 0.0
    labels = np.where(generator.random(SAMPLES) < 0.5, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    targets = generator.standard_normal(SAMPLES) if task == "krr" else labels
    chosen = kernel_from(kernel, degree=3, offset=1.0, sigma=0.3)
    return Problem("labelled", data, targets, chosen, loss_from(task, 0.5 if task == "krr" else 0.7))


def every_failure(only: Sequence[str] = ()) -> list[Named]:
    """The FAILs of all wrong solvers, or of some by name, for two s each, on their task and kernel."""
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        for solver in (one for one in (*WRONG, *RARE) if not only or one.id in only):
            task, kernel = solver.on.split()
            stream = IndexStream("uniform", SAMPLES, 3 if task == "krr" else 1, ITERATIONS, 3)
            for s in (1, 8):
                for verdict in judge(solver.make(), problem_of(task, kernel), stream, s):
                    if verdict.status is Status.FAIL and verdict.check != "contract":
                        named = verdict.evidence.get("likely causes")
                        told = tuple(named) if isinstance(named, list) else ()
                        found.append(Named(solver, s, verdict.check, told))
    return found


def main(*only: str) -> None:
    """Print both figures of all solvers, or of some by name, and what is not named."""
    every = every_failure(only)
    for one in every:
        if not one.alone:
            what = "not named" if not one.right else "with others"
            print(f"{one.solver.id}, s = {one.s}, {one.check}: {what}: {', '.join(one.named) or 'nothing'}")
    print(f"FAILs: {len(every)}")
    for told, name in (("the true mistake in the named class", "right"), ("and alone in it", "alone")):
        count = sum(getattr(one, name) for one in every)
        print(f"{told}: {count} ({count / max(len(every), 1):.0%})")


if __name__ == "__main__":
    main(*sys.argv[1:])
