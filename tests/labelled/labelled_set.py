"""The labelled set: solvers made here, right and wrong, with what each declares and breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import wrong_problems
import wrong_steps
from sstep import SStep, Way

from sstep_verify import CallableSolver, Declaration
from sstep_verify.solver import Solver

SVM, L2, RIDGE = ("svm-l1",), ("svm-l2",), ("krr",)
RBF, POLYNOMIAL, LINEAR = ("rbf",), ("polynomial",), ("linear",)
IN_SMOKE = {("svm-l1", "rbf"), ("krr", "polynomial")}
"""Tasks and kernels of profile smoke; others need profile ci."""


@dataclass(frozen=True)
class Labelled:
    """A solver with its label.

    Parameters
    ----------
    id : str
        Its name.
    make : callable
        Makes the solver.
    tasks, kernels : tuple of str
        What it is judged on; all of the profile if empty.
    breaks : tuple of str
        Numbers of the sentences that it breaks; empty of a right one. Where there are several, each is
        broken and any of them may be named first; why stands beside it.
    """

    id: str
    make: Callable[[], Solver]
    tasks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether it is a right solver."""
        return not self.breaks

    def profile(self, asked: str) -> str:
        """The profile asked for, or ci where that has no problem for it."""
        pairs = {(task, kernel) for task in self.tasks for kernel in self.kernels}
        return asked if asked != "smoke" or not pairs or pairs & IN_SMOKE else "ci"


def declared(name: str, way: Way, log: bool, ulps: float = 4.0) -> Declaration:
    """What a solver that works in this way declares."""
    return Declaration(
        name,
        precision=way.precision,
        update=way.update,
        increments=way.increments,
        rbf=way.rbf,
        clamped=way.clamped,
        power=way.power,
        products="rows" if way.products == "rows" else "any",
        factorisation={"elimination": "ldl"}.get(way.system, way.system),
        summation={"pairwise": "pairwise", "blocked": "blocked:4"}.get(way.order, "any"),
        function_ulps=ulps,
        log=log,
    )


def callable_of(kind: type[SStep], way: Way, declaration: Declaration) -> Solver:
    """A class of solvers as a function; its log is written where one is declared."""

    def function(problem, blocks, s, a0, log=None):
        return kind(way, problem).solve(blocks, s, a0, log)

    return CallableSolver(function, declaration)


def right(name: str, tasks=(), kernels=(), log: bool = True, **choices) -> Labelled:
    """A right solver that works in the way chosen."""
    way = Way(**choices)
    return Labelled(name, lambda: callable_of(SStep, way, declared(name, way, log)), tasks, kernels)


def wrong(
    kind: type[SStep], tasks, kernels, *breaks: str, log: bool = True, suffix="", **choices
) -> Labelled:
    """The solver with a mistake; it declares what the right one would."""
    way, name = Way(**choices), kind.__name__ + suffix
    return Labelled(name, lambda: callable_of(kind, way, declared(name, way, log)), tasks, kernels, breaks)


def undeclared(name: str, tasks, kernels, *breaks: str, claims: dict, **choices) -> Labelled:
    """A right solver of another declaration than its own."""
    way = Way(**choices)
    declaration = replace(declared(name, way, True), **claims)
    return Labelled(name, lambda: callable_of(SStep, way, declaration), tasks, kernels, breaks)


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
    right("lu", RIDGE, POLYNOMIAL, system="lu"),
    right("elimination", RIDGE, POLYNOMIAL, system="elimination", log=False),
    right("linear rows", SVM, LINEAR),
    right("linear weights", L2, LINEAR, products="samples"),
    right("windows alone", log=False),
    right("l1 linear weights windows", SVM, LINEAR, products="samples", log=False),
    right("l1 polynomial reversed", SVM, POLYNOMIAL, order="reversed"),
    right("l1 differences extended", SVM, RBF, rbf="difference", order="extended"),
    right("l1 pairwise frozen", SVM, RBF, order="pairwise", update="frozen"),
    right("l1 float32 added", SVM, RBF, precision="float32", update="added"),
    right("l2 linear frozen summed", L2, LINEAR, update="frozen", increments="summed"),
    right("l2 polynomial pow", L2, POLYNOMIAL, power="pow", log=False),
    right("l2 added", L2, RBF, update="added"),
    right("l2 differences windows", L2, RBF, rbf="difference", log=False),
    right("ridge linear weights", RIDGE, LINEAR, products="samples"),
    right("ridge linear elimination", RIDGE, LINEAR, system="elimination"),
    right("ridge unclamped", RIDGE, RBF, clamped=False),
    right("ridge float32 lu", RIDGE, RBF, precision="float32", rbf="difference", system="lu"),
    right("ridge float32 reversed", RIDGE, POLYNOMIAL, precision="float32", order="reversed", log=False),
    right("ridge blocked lu", RIDGE, POLYNOMIAL, order="blocked", system="lu"),
    right("ridge compensated frozen", RIDGE, POLYNOMIAL, order="compensated", update="frozen"),
)

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
    wrong(wrong_steps.Repeats, RIDGE, POLYNOMIAL, "S-2.5", "S-2.2"),
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
    wrong(wrong_steps.OmegaDropped, L2, LINEAR, "S-3.7"),
    wrong(wrong_problems.OmegaDoubled, L2, LINEAR, "S-1.3", log=False),
    wrong(wrong_steps.CorrectionDropped, SVM, RBF, "S-3.5"),
    wrong(wrong_steps.CorrectionDropped, RIDGE, POLYNOMIAL, "S-3.5", log=False, suffix="Ridge"),
    wrong(wrong_steps.CorrectionAtOddPlaces, SVM, RBF, "S-3.5"),
    wrong(wrong_steps.CorrectionOff, SVM, RBF, "S-3.5"),
    wrong(wrong_steps.OverlapDropped, SVM, RBF, "S-3.6", log=False),
    wrong(wrong_steps.OverlapDropped, RIDGE, POLYNOMIAL, "S-3.6", suffix="Ridge"),
    # Steps do not see what the window before did: the two sentences say the same of it.
    wrong(wrong_steps.StaleA, SVM, RBF, "S-3.3", "S-3.12"),
    wrong(wrong_steps.StalePanel, SVM, RBF, "S-3.3"),
    wrong(wrong_steps.LastOfWindowLost, SVM, RBF, "S-3.12", log=False),
    # Of a alone a last step not made, one whose value is not stored, and draws one place late are the same.
    wrong(wrong_steps.OneFewer, SVM, RBF, "S-2.3", "S-2.2", "S-3.12", log=False),
    # The step too many moves a coordinate at a position where the stream draws another.
    wrong(wrong_steps.OneMore, SVM, RBF, "S-2.3", "S-2.2", "S-3.12", log=False),
    wrong(wrong_steps.TailDropped, SVM, RBF, "S-2.3"),
    # Runs of a profile begin from 0 but those that continue another: it is there that a0 matters.
    wrong(wrong_steps.StartIgnored, SVM, RBF, "S-2.1", "S-2.8"),
    wrong(wrong_steps.OtherStream, SVM, RBF, "S-2.2"),
    undeclared(
        "float32 undeclared", SVM, RBF, "S-3.1", precision="float32", claims={"precision": "float64"}
    ),
)

LABELLED = (*RIGHT, *WRONG)
