"""How often the true mistake is named: the labelled set on one small problem, by the class of each FAIL.

Run as ``python -m studies.corpus.named``: it prints in how many FAILs the true mistake is in the class of
mistakes that are named, in how many alone, and those where it is not. A run that an error
ended is left out: nothing of it can be explained.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sstep_verify import judge
from sstep_verify.diagnosis import candidates, factors, kernel_rows, other_problems
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    Kernel,
    LinearKernel,
    Loss,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.verdict import Status, Verdict
from studies.corpus.labelled import Labelled
from studies.corpus.labelled_set import RARE, WRONG

SAMPLES, FEATURES, ITERATIONS, BLOCK, S_VALUES = 9, 4, 30, 3, (1, 8)

KERNELS: dict[str, Kernel] = {
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(degree=3, offset=1.0),
    "rbf": RBFKernel(sigma=0.3),
}
LOSSES: dict[str, Loss] = {"svm-l1": Hinge(0.7), "svm-l2": SquaredHinge(0.7), "krr": Ridge(0.5)}

CORRECTION = ("correction-dropped", "kernel-correction left out", "kernel-correction off by a factor")
STEPS = ("index-stream", "index-stream left out")
LAST_STEP = (*STEPS, "window-boundary left out", "write-back left out")

TRUE = {
    "LabelsInside": (kernel_rows.LABELS,),
    "LabelsInsidePolynomial": (kernel_rows.LABELS,),
    "LabelsInBoth": (other_problems.BOTH,),
    "LabelLost": ("labels left out",),
    "NormsLost": (kernel_rows.NORMS,),
    "SigmaHalved": (other_problems.SIGMA,),
    "DegreeMore": (other_problems.DEGREE,),
    "OffsetLost": (other_problems.OFFSET,),
    "FeatureMissing": (kernel_rows.LOST,),
    "RankMissing": (kernel_rows.LOST,),
    "KernelFirst": (kernel_rows.SPLIT,),
    "Repeats": STEPS,
    "TimesM": (other_problems.TIMES_M,),
    "OverLambda": (other_problems.OVER_LAMBDA,),
    "MOnceOnly": (factors.M_ON_DIAGONAL,),
    "MLost": (other_problems.M_LOST,),
    "MEverywhere": (kernel_rows.EVERYWHERE,),
    "LambdaLost": (other_problems.LAMBDA_LOST,),
    "UpperIgnored": ("upper-end left out",),
    "UpperOff": (candidates.END,),
    "LowerIgnored": ("lower-end left out",),
    "OmegaDropped": ("omega left out",),
    "OmegaDoubled": (other_problems.OMEGA,),
    "CorrectionDropped": CORRECTION,
    "CorrectionDroppedRidge": CORRECTION,
    "CorrectionAtOddPlaces": CORRECTION,
    "CorrectionOff": CORRECTION,
    "OverlapDropped": ("overlap-dropped", "overlap left out"),
    "OverlapDroppedRidge": ("overlap-dropped", "overlap left out"),
    "StaleA": (candidates.OLD_A,),
    "StalePanel": (candidates.OLD_ROWS,),
    "LastOfWindowLost": ("window-boundary left out",),
    "OneFewer": LAST_STEP,
    "OneMore": STEPS,
    "TailDropped": ("tail-lost", "tail left out"),
    "StartIgnored": (),
    "OtherStream": STEPS,
    "float32 undeclared": (candidates.SINGLE,),
    "TailUncorrected": CORRECTION,
    "ThirdDrawMissed": ("of own increments the first alone seen",),
    "ReachesBack": CORRECTION,
    "FirstProductOff": ("stale-product off by a factor",),
    "StartRounded": (),
    "Bias": (kernel_rows.BIAS,),
    "Jitter": (factors.M_ON_DIAGONAL,),
    "Damped": ("curvature off by a factor",),
    "ZeroCurvatureLeft": (),
    "SmallStepsLeft": (candidates.SMALL,),
    "OffDiagonalDropped": ("off-diagonal left out",),
}
"""What each mistake is called, by its label: names that say the same of it; none has one that no run shows.

A mistake in some steps has the name of the quantity that is wrong there; of a alone a last step that is not
made, one whose value is not stored, and draws one place late are the same.
"""


@dataclass(frozen=True)
class Named:
    """A FAIL of a labelled solver.

    Parameters
    ----------
    id : str
        The solver's.
    s : int
        Iterations per window.
    check : str
        The check that failed.
    named : tuple of str
        The class of mistakes that it names.
    """

    id: str
    s: int
    check: str
    named: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the true mistake is in the class."""
        return bool(set(self.named) & set(TRUE[self.id]))

    @property
    def alone(self) -> bool:
        """Whether it is there alone, by whatever name."""
        return self.right and len(self.named) == 1


def problem_of(task: str, kernel: str) -> Problem:
    """The small problem of a task and a kernel: two equal samples, a sample with zeros, both classes."""
    generator = np.random.Generator(np.random.PCG64(11))
    data = generator.standard_normal((SAMPLES, FEATURES))
    data[3], data[6, 1:3] = data[5], 0.0
    labels = np.where(generator.random(SAMPLES) < 0.5, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    targets = generator.standard_normal(SAMPLES) if task == "krr" else labels
    return Problem("labelled", data, targets, KERNELS[kernel], LOSSES[task])


def failures(entry: Labelled) -> Iterator[Named]:
    """The FAILs of a labelled solver, for each s on each of its tasks and kernels."""
    for task in entry.tasks:
        stream = IndexStream("uniform", SAMPLES, BLOCK if task == "krr" else 1, ITERATIONS, 3)
        for kernel in entry.kernels:
            for s in S_VALUES:
                for verdict in judge(entry.make(), problem_of(task, kernel), stream, s):
                    if verdict.status is Status.FAIL and verdict.check != "contract":
                        yield Named(entry.id, s, verdict.check, _causes(verdict))


def _causes(verdict: Verdict) -> tuple[str, ...]:
    named = verdict.evidence.get("likely causes")
    return tuple(map(str, named)) if isinstance(named, list) else ()


def every_failure(only: Sequence[str] = ()) -> list[Named]:
    """The FAILs of all wrong solvers, or of some by name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        entries = [one for one in (*WRONG, *RARE) if not only or one.id in only]
        return [failure for entry in entries for failure in failures(entry)]


def main() -> None:
    """Print both figures, and what is not named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="names of solvers; all if absent")
    every = every_failure(parser.parse_args().only)
    right, alone = (sum(getattr(one, name) for one in every) for name in ("right", "alone"))
    for one in every:
        if not one.alone:
            what = "not named" if not one.right else "with others"
            print(f"{one.id}, s = {one.s}, {one.check}: {what}: {', '.join(one.named) or 'nothing'}")
    print(f"FAILs: {len(every)}")
    print(f"the true mistake in the named class: {right} ({right / max(len(every), 1):.0%})")
    print(f"and alone in it: {alone} ({alone / max(len(every), 1):.0%})")


if __name__ == "__main__":
    main()
