"""The labelled set: solvers made here, right and wrong, with what each declares and breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify import CallableSolver, Declaration
from sstep_verify.problems import Problem
from sstep_verify.solver import Solver
from studies.corpus import wrong_problems, wrong_rare, wrong_steps
from studies.corpus.labelled import L2, LINEAR, POLYNOMIAL, RBF, RIDGE, SVM, Labelled
from studies.corpus.sstep import SStep

Names = tuple[str, ...]

LATER, LAST = "after the first step of a window", "last step of a window"
LATER_WINDOWS = "after the first window"
AGAIN, THIRD = "coordinate drawn again in the window", "coordinate drawn a third time in the window"


SUMMED = {"pairwise": "pairwise", "blocked": "blocked:4"}
"""What is declared of an order of sums; any of the others."""


def declared(name: str, log: bool, order: str, **choices: Any) -> Declaration:
    """What a solver that works in this way declares."""
    usual: dict[str, Any] = {"products": "rows", "clamped": True, "power": "multiplication"}
    return Declaration(name, log=log, summation=SUMMED.get(order, "any"), **(usual | choices))


def callable_of(kind: type[SStep], order: str, way: Declaration, declaration: Declaration) -> Solver:
    """A class of solvers as a function that works in a way; its log is written where one is declared."""

    def function(
        problem: Problem, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        return kind(way, order, problem).solve(blocks, s, a0, log)

    return CallableSolver(function, declaration)


def right(
    name: str,
    tasks: Names = (),
    kernels: Names = (),
    log: bool = True,
    order: str = "forward",
    **choices: Any,
) -> Labelled:
    """A right solver that works in the way chosen."""
    way = declared(name, log, order, **choices)
    return Labelled(name, lambda: callable_of(SStep, order, way, way), tasks, kernels)


def wrong(
    kind: type[SStep],
    tasks: Names,
    kernels: Names,
    *breaks: str,
    acts: str = "every step",
    log: bool = True,
    suffix: str = "",
    equivalent: str = "",
) -> Labelled:
    """The solver with a mistake; it declares what the right one would."""
    name = kind.__name__ + suffix
    way = declared(name, log, "forward")
    return Labelled(
        name, lambda: callable_of(kind, "forward", way, way), tasks, kernels, breaks, acts, equivalent
    )


def undeclared(
    name: str, tasks: Names, kernels: Names, *breaks: str, claims: dict[str, Any], **choices: Any
) -> Labelled:
    """A right solver of another declaration than its own."""
    way = declared(name, True, "forward", **choices)
    declaration = replace(way, **claims)
    return Labelled(
        name, lambda: callable_of(SStep, "forward", way, declaration), tasks, kernels, breaks, "every step"
    )


RIGHT = (
    right("forward"),
    right("reversed", order="reversed"),
    right("pairwise", order="pairwise"),
    right("blocked", order="blocked"),
    right("compensated", order="compensated"),
    right("extended", order="extended"),
    right("float32", precision="float32"),
    right("float32 frozen", precision="float32", update="frozen", log=False),
    right("added", SVM, RBF, update="added"),
    right("added windows", SVM, RBF, update="added", log=False),
    right("frozen summed", update="frozen", increments="summed"),
    right("frozen separate", update="frozen", log=False),
    right("summed in place", increments="summed"),
    right("differences", SVM, RBF, rbf="difference"),
    right("unclamped", SVM, RBF, clamped=False),
    right("pow", RIDGE, POLYNOMIAL, power="pow"),
    right("lu", RIDGE, POLYNOMIAL, factorisation="lu"),
    right("elimination", RIDGE, POLYNOMIAL, factorisation="ldl", log=False),
    right("linear rows", SVM, LINEAR),
    right("linear weights", L2, LINEAR, products="any"),
    right("windows alone", log=False),
    right("l1 linear weights windows", SVM, LINEAR, products="any", log=False),
    right("l1 polynomial reversed", SVM, POLYNOMIAL, order="reversed"),
    right("l1 differences extended", SVM, RBF, rbf="difference", order="extended"),
    right("l1 pairwise frozen", SVM, RBF, order="pairwise", update="frozen"),
    right("l1 float32 added", SVM, RBF, precision="float32", update="added"),
    right("l2 linear frozen summed", L2, LINEAR, update="frozen", increments="summed"),
    right("l2 polynomial pow", L2, POLYNOMIAL, power="pow", log=False),
    right("l2 added", L2, RBF, update="added"),
    right("l2 differences windows", L2, RBF, rbf="difference", log=False),
    right("ridge linear weights", RIDGE, LINEAR, products="any"),
    right("ridge linear elimination", RIDGE, LINEAR, factorisation="ldl"),
    right("ridge unclamped", RIDGE, RBF, clamped=False),
    right("ridge float32 lu", RIDGE, RBF, precision="float32", rbf="difference", factorisation="lu"),
    right("ridge float32 reversed", RIDGE, POLYNOMIAL, precision="float32", order="reversed", log=False),
    right("ridge blocked lu", RIDGE, POLYNOMIAL, order="blocked", factorisation="lu"),
    right("ridge compensated frozen", RIDGE, POLYNOMIAL, order="compensated", update="frozen"),
    right("float32 compensated", precision="float32", order="compensated"),
    right("float32 extended", SVM, RBF, precision="float32", order="extended"),
    # A step log is one of float64, which does not hold a longdouble's digits.
    right("longdouble", precision="longdouble", factorisation="ldl", log=False),
    right("l2 longdouble frozen", L2, RBF, precision="longdouble", update="frozen", log=False),
    right(
        "ridge longdouble differences", RIDGE, RBF,
        precision="longdouble", rbf="difference", factorisation="ldl", log=False,
    ),
)  # fmt: skip

WRONG = (
    wrong(wrong_problems.LabelsInside, SVM, RBF, "S-1.2"),
    wrong(wrong_problems.LabelsInside, L2, POLYNOMIAL, "S-1.2", log=False, suffix="Polynomial"),
    wrong(wrong_problems.LabelsInBoth, SVM, RBF, "S-1.2", log=False),
    wrong(wrong_steps.LabelLost, SVM, RBF, "S-1.2"),
    wrong(wrong_problems.NormsLost, SVM, RBF, "S-1.7"),
    wrong(wrong_problems.SigmaHalved, SVM, RBF, "S-1.7", log=False),
    wrong(wrong_problems.DegreeMore, RIDGE, POLYNOMIAL, "S-1.6"),
    wrong(wrong_problems.OffsetLost, RIDGE, POLYNOMIAL, "S-1.6", log=False),
    wrong(wrong_problems.FeatureMissing, SVM, RBF, "S-1.8"),
    wrong(wrong_problems.RankMissing, RIDGE, POLYNOMIAL, "S-1.8", log=False),
    wrong(wrong_problems.KernelFirst, RIDGE, POLYNOMIAL, "S-1.8"),
    # The last coordinate of a block is then not updated either.
    wrong(wrong_steps.Repeats, RIDGE, POLYNOMIAL, "S-2.5", "S-2.2", acts="block of several coordinates"),
    # The matrix solved is M/m: 1 in the place of m, and every entry over m too.
    wrong(wrong_problems.TimesM, RIDGE, POLYNOMIAL, "S-1.4", "S-1.5"),
    # The matrix solved is lambda M: entries not over lambda, and lambda m in the place of m.
    wrong(wrong_problems.OverLambda, RIDGE, POLYNOMIAL, "S-1.5", "S-1.4", log=False),
    wrong(wrong_steps.MOnceOnly, RIDGE, POLYNOMIAL, "S-1.4"),
    wrong(wrong_problems.MLost, RIDGE, POLYNOMIAL, "S-1.4", log=False),
    wrong(wrong_problems.MEverywhere, RIDGE, POLYNOMIAL, "S-1.4", log=False),
    wrong(wrong_problems.LambdaLost, RIDGE, POLYNOMIAL, "S-1.5"),
    wrong(wrong_steps.UpperIgnored, SVM, RBF, "S-3.9"),
    wrong(wrong_steps.UpperOff, SVM, RBF, "S-3.9", log=False),
    wrong(wrong_steps.LowerIgnored, SVM, RBF, "S-3.8"),
    wrong(wrong_steps.OmegaDropped, L2, LINEAR, "S-3.7", acts="coordinate drawn before"),
    wrong(wrong_problems.OmegaDoubled, L2, LINEAR, "S-1.3", log=False),
    wrong(wrong_steps.CorrectionDropped, SVM, RBF, "S-3.5", acts=LATER),
    wrong(wrong_steps.CorrectionDropped, RIDGE, POLYNOMIAL, "S-3.5", log=False, suffix="Ridge", acts=LATER),
    wrong(wrong_steps.CorrectionAtOddPlaces, SVM, RBF, "S-3.5", acts=LATER),
    wrong(wrong_steps.CorrectionOff, SVM, RBF, "S-3.5", acts=LATER),
    wrong(wrong_steps.OverlapDropped, SVM, RBF, "S-3.6", log=False, acts=AGAIN),
    wrong(wrong_steps.OverlapDropped, RIDGE, POLYNOMIAL, "S-3.6", suffix="Ridge", acts=AGAIN),
    # Steps do not see what the window before did: the two sentences say the same of it.
    wrong(wrong_steps.StaleA, SVM, RBF, "S-3.3", "S-3.12", acts=LATER_WINDOWS),
    wrong(wrong_steps.StalePanel, SVM, RBF, "S-3.3", acts=LATER_WINDOWS),
    wrong(wrong_steps.LastOfWindowLost, SVM, RBF, "S-3.12", log=False, acts=LAST),
    # Of a alone a last step not made, one whose value is not stored, and draws one place late are the same.
    wrong(wrong_steps.OneFewer, SVM, RBF, "S-2.3", "S-2.2", "S-3.12", log=False, acts=LAST),
    # The step too many moves a coordinate at a position where the stream draws another.
    wrong(wrong_steps.OneMore, SVM, RBF, "S-2.3", "S-2.2", "S-3.12", log=False, acts=LAST),
    wrong(wrong_steps.TailDropped, SVM, RBF, "S-2.3", acts="last short window"),
    # Runs of a profile begin from 0 but those that continue another: it is there that a0 matters.
    wrong(wrong_steps.StartIgnored, SVM, RBF, "S-2.1", "S-2.8", acts="continued run"),
    wrong(wrong_steps.OtherStream, SVM, RBF, "S-2.2", acts=LATER_WINDOWS),
    undeclared(
        "float32 undeclared", SVM, RBF, "S-3.1", precision="float32", claims={"precision": "float64"}
    ),
)

RARE = (
    wrong(wrong_rare.TailUncorrected, L2, RBF, "S-3.5", acts="last short window"),
    # An increment of the same coordinate, and an earlier step's, is missing in the gradient.
    wrong(wrong_rare.ThirdDrawMissed, L2, RBF, "S-3.6", "S-3.5", acts=THIRD),
    wrong(wrong_rare.ReachesBack, L2, RBF, "S-3.5", acts=LATER),
    wrong(wrong_rare.FirstProductOff, SVM, RBF, "S-3.3", acts="first step of a window"),
    # A run that goes on is then not the rest of the whole one.
    wrong(wrong_rare.StartRounded, SVM, RBF, "S-2.1", "S-2.8", acts="continued run"),
    # An entry with 1 added is no RBF value, nor the kernel function of a distance.
    wrong(wrong_rare.Bias, SVM, RBF, "S-1.1", "S-1.7", "S-1.8"),
    # The system is not the whole block's: its diagonal holds an absolute constant beside m.
    wrong(wrong_rare.Jitter, RIDGE, POLYNOMIAL, "S-3.4", "S-1.4", "S-4.5"),
    # a moves by a part of the solution of the system: a step length.
    wrong(wrong_rare.Damped, RIDGE, POLYNOMIAL, "S-3.4", "S-3.2"),
    wrong(wrong_rare.ZeroCurvatureLeft, SVM, LINEAR, "S-3.10"),
    # What is too small is left out by an absolute threshold.
    wrong(wrong_rare.SmallStepsLeft, L2, RBF, "S-3.11", "S-4.5"),
    wrong(wrong_rare.OffDiagonalDropped, RIDGE, POLYNOMIAL, "S-3.13", acts="block of several coordinates"),
)

EQUIVALENT = (
    wrong(
        wrong_rare.CorrectionUlp, SVM, RBF, "S-3.5", acts=LATER,
        equivalent="a correction off by 2**-52 of it: its kernel entries may be off by more, by exp alone",
    ),
    wrong(
        wrong_rare.SystemUlp, RIDGE, POLYNOMIAL, "S-3.4",
        equivalent="a solution off by 2**-52 of it: the factorisation of a system may be off by more",
    ),
)  # fmt: skip
"""Mistakes whose exact trajectory stays within the bound: no verdict can be FAIL, and none should be."""

LABELLED = (*RIGHT, *WRONG, *RARE)
