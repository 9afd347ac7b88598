"""The labelled set of solvers made here: right ones with what each declares, then the wrong ones."""

from __future__ import annotations

from sstep_verify.diagnosis import candidates
from studies.corpus import wrong_problems, wrong_steps
from studies.corpus.labelled import Function, callable_of, declared, right
from studies.corpus.sstep import SStep
from studies.corpus.wrong_rare import EQUIVALENT, RARE

__all__ = ["EQUIVALENT", "FUNCTIONS", "RARE", "RIGHT", "WRONG"]

RIGHT = (
    right("forward"),
    right("reversed", order="reversed"),
    right("pairwise", order="pairwise"),
    right("blocked", order="blocked"),
    right("compensated", order="compensated"),
    right("extended", order="extended"),
    right("float32", precision="float32"),
    right("float32 frozen", precision="float32", update="frozen", log=False),
    right("added", "svm-l1 rbf", update="added"),
    right("added windows", "svm-l1 rbf", update="added", log=False),
    right("frozen summed", update="frozen", increments="summed"),
    right("frozen separate", update="frozen", log=False),
    right("summed in place", increments="summed"),
    right("differences", "svm-l1 rbf", rbf="difference"),
    right("unclamped", "svm-l1 rbf", clamped=False),
    right("pow", "krr polynomial", power="pow"),
    right("lu", "krr polynomial", factorisation="lu"),
    right("elimination", "krr polynomial", factorisation="ldl", log=False),
    right("linear rows", "svm-l1 linear"),
    right("linear weights", "svm-l2 linear", products="any"),
    right("windows alone", log=False),
    right("l1 linear weights windows", "svm-l1 linear", products="any", log=False),
    right("l1 polynomial reversed", "svm-l1 polynomial", order="reversed"),
    right("l1 differences extended", "svm-l1 rbf", rbf="difference", order="extended"),
    right("l1 pairwise frozen", "svm-l1 rbf", order="pairwise", update="frozen"),
    right("l1 float32 added", "svm-l1 rbf", precision="float32", update="added"),
    right("l2 linear frozen summed", "svm-l2 linear", update="frozen", increments="summed"),
    right("l2 polynomial pow", "svm-l2 polynomial", power="pow", log=False),
    right("l2 added", "svm-l2 rbf", update="added"),
    right("l2 differences windows", "svm-l2 rbf", rbf="difference", log=False),
    right("ridge linear weights", "krr linear", products="any"),
    right("ridge linear elimination", "krr linear", factorisation="ldl"),
    right("ridge unclamped", "krr rbf", clamped=False),
    right("ridge float32 lu", "krr rbf", precision="float32", rbf="difference", factorisation="lu"),
    right("ridge float32 reversed", "krr polynomial", precision="float32", order="reversed", log=False),
    right("ridge blocked lu", "krr polynomial", order="blocked", factorisation="lu"),
    right("ridge compensated frozen", "krr polynomial", order="compensated", update="frozen"),
    right("float32 compensated", precision="float32", order="compensated"),
    right("float32 extended", "svm-l1 rbf", precision="float32", order="extended"),
    # A step log is one of float64, which does not hold a longdouble's digits.
    right("longdouble", precision="longdouble", factorisation="ldl", log=False),
    right("l2 longdouble frozen", "svm-l2 rbf", precision="longdouble", update="frozen", log=False),
    right(
        "ridge longdouble differences", "krr rbf",
        precision="longdouble", rbf="difference", factorisation="ldl", log=False,
    ),
)  # fmt: skip

_HELD, _CLAIMED = (
    declared("float32 undeclared", True, "forward", precision=one) for one in ("float32", "float64")
)

UNDECLARED = Function(
    _HELD.name, "svm-l1 rbf", ("S-3.1",), "every step", named=(candidates.SINGLE,),
    make=lambda: callable_of(SStep, "forward", _HELD, _CLAIMED),
)  # fmt: skip

WRONG = (*wrong_problems.WRONG, *wrong_steps.WRONG, UNDECLARED)

FUNCTIONS = (*RIGHT, *WRONG, *RARE, *EQUIVALENT)
