"""Which values of freedoms go together, and what a check asks of them before it decides anything.

What one value leaves of others says why no run has both; what a check asks for, why cells of the table are
empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import every_run
from sstep_verify.solver.settings import Options
from studies.admissible.undeclared import PRODUCTION, Undeclared
from studies.coverage.freedoms import (
    AGAIN,
    KEPT,
    NO,
    NONE,
    OWN_EXCHANGES,
    VALUES,
    YES,
    declared_values,
    made_values,
)  # fmt: skip

Values = dict[str, tuple[str, ...]]


class Rule(NamedTuple):
    """Where freedom `name` has one of some `values`, freedom `other` has one of those `left`; and why."""

    why: str
    name: str
    values: frozenset[str]
    other: str
    left: frozenset[str]


class Requirement(NamedTuple):
    """Values of freedoms, all of which must be so for a check to decide a run, and why not if they are not.

    It is required where freedoms have the values `given`; everywhere if empty.
    """

    checks: tuple[str, ...]
    needs: Values
    why: str
    given: Values = {}  # noqa: RUF012


def _rules(why: str, name: str, values: tuple[str, ...], then: Values) -> list[Rule]:
    return [Rule(why, name, frozenset(values), other, frozenset(left)) for other, left in then.items()]


def options_of(row: dict[str, str], samples: int = 8) -> dict[str, Any]:
    """Options of the production solver for a row with an exchange of its own."""
    own: dict[str, Any] = {
        "kept-gram": {"exchange": "allreduce", "keep_gram": True},
        "column-cache": {"exchange": "allreduce", "cache": 4 * samples},
    }.get(row["exchange"], {"exchange": row["exchange"]})
    return own | {"update": row["update"], "rbf": row["rbf"], "recompute": 3 * (row["weights"] == AGAIN)}


def production_form(options: Options) -> Undeclared:
    """What the production solver does undeclared with some options."""
    return replace(PRODUCTION, shown="rows" if options.exchange == "allreduce" else "draws")


def _production(exchange: str) -> list[Rule]:
    row = {"exchange": exchange, "update": "in-place", "rbf": "difference", "weights": NONE}
    options = Options(**options_of(row))
    declared = declared_values(options.declaration(1)) | made_values(production_form(options))
    free = {"update": ("in-place", "frozen"), "rbf": VALUES["rbf"], "ranks": VALUES["ranks"]}
    if exchange == "gram":
        free |= {"weights": (KEPT, AGAIN), "kernel": ("linear",)}
    fixed = {name: (value,) for name, value in declared.items() if name not in free}
    apart = {"claims": (NO,), "written": ("binary",), "unit": ("1",), "scaled": (NO,), "as_given": (NO,)}
    why = f"exchange {exchange} is made by the production solver alone, which fixes the rest"
    return _rules(why, "exchange", (exchange,), fixed | free | apart)


def others(name: str, *values: str) -> tuple[str, ...]:
    """The values of a freedom but some."""
    return tuple(value for value in VALUES[name] if value not in values)


HIDDEN: Values = {"panels": (NO,)}
SVM = ("svm-l1", "svm-l2")

ROUNDED = "a known to a rounding only is judged by its ends (level 0)"

RULES: tuple[Rule, ...] = (
    *_rules("K-SVM draws one coordinate a step", "task", SVM, {
        "block": ("1",), "maintained": others("maintained", "residual")}),
    *_rules("a residual is what K-RR has", "task", ("krr",), {
        "maintained": others("maintained", "gradient")}),
    *_rules("steps are made from one of them", "weights", (KEPT, AGAIN), {"maintained": ("",)}),
    *_rules("no bound holds what it drifts by over a long run, or where a stands still", "maintained",
            ("gradient", "residual"), {
        "iterations": others("iterations", "long"), "data": ("spread",), "range": ("near 1",)}),
    *_rules("weights are of the linear kernel", "kernel", others("kernel", "linear"), {
        "weights": (NONE,), "exchange": others("exchange", "gram")}),
    *(rule for exchange in OWN_EXCHANGES for rule in _production(exchange)),
    *_rules(ROUNDED, "scaled", (YES,), {"level": ("0",)}),
    *_rules(ROUNDED, "written", ("decimals",), {"level": ("0",)}),
    *_rules("no bound is derived for weights in another scale", "scaled", (YES,), {
        "weights": (NONE,), "maintained": ("",)}),
    *_rules("level 0 shows no step", "level", ("0",), {"log": (NO,), "exchange": ("",), **HIDDEN}),
    *_rules("level 1 shows no window", "level", ("1",), {"exchange": ("",), **HIDDEN}),
    *_rules("level 2 shows no counts", "level", ("2",), {"exchange": ("",)}),
    *_rules("nothing is shown", "panels", (NO,), {"shown": ("rows",)}),
    *_rules("windows of one step are whole", "s", ("1",), {
        "iterations": others("iterations", "a short last one"), "unit": ("1",)}),
    *_rules("runs of whole units have whole windows", "unit", ("s",), {
        "iterations": others("iterations", "a short last one")}),
    *_rules("a stands still after a long run", "data", ("still",), {"iterations": ("long",)}),
    *_rules("these data are near 1", "data", others("data", "spread"), {"range": ("near 1",)}),
)  # fmt: skip
"""All of them speak of two freedoms; what they say together is worked out by `left_by`."""


def left_by(values: Mapping[str, tuple[str, ...]]) -> tuple[Values, str]:
    """What the rules leave of some values of each freedom; or none of one, and the rule that took the last.

    Every rule is used both ways until none takes anything more.
    """
    left, before = dict(values), None
    while left != before:
        before = dict(left)
        for rule in RULES:
            if rule.values.issuperset(left[rule.name]) and not rule.left.issuperset(left[rule.other]):
                left[rule.other] = tuple(value for value in left[rule.other] if value in rule.left)
            if rule.left.isdisjoint(left[rule.other]):
                left[rule.name] = tuple(value for value in left[rule.name] if value not in rule.values)
            if not (left[rule.name] and left[rule.other]):
                return left, rule.why
    return left, ""


NOT_PRINTED = (
    *("step-replay", "window-replay", "metamorphic-exact", "kernel-entries"),
    *("box", "optimum", "claim-honesty", "residual-gap"),
)
"""Checks that a campaign does not ask of a result that is known to a rounding only."""

REQUIRED = (
    Requirement(
        tuple(check.id for check in CHECKS.values() if check.affordable is not every_run),
        {"replay_limit": ("exact",)},
        "replays exactly, and the case's limit is none",
    ),
    Requirement(NOT_PRINTED, {"written": ("binary",), "scaled": (NO,)}, "a is known to a rounding only"),
    Requirement(("box",), {"task": SVM}, "K-RR has no box"),
    Requirement(("step-replay",), {"log": (YES,)}, "judges steps that are written down"),
    Requirement(
        ("message-count",), {"exchange": others("exchange", "")}, "counts are judged of a declared exchange"
    ),
    Requirement(("kernel-entries",), {"panels": (YES,)}, "judges entries that are exposed"),
    Requirement(("rank-coherence",), {"ranks": ("several",)}, "compares ranks"),
    Requirement(("residual-gap",), {"weights": (KEPT, AGAIN)}, "judges weights that are maintained"),
    Requirement(("residual-gap",), {"update": ("in-place",)}, "no bound here but in place", {"task": SVM}),
    Requirement(("optimum",), {"claims": (YES,)}, "judges runs that claim to have converged"),
    Requirement(
        ("claim-honesty",), {"exchange": others("exchange", *OWN_EXCHANGES)}, "its plain runs claim nothing"
    ),
    Requirement(("sstep-equals-classical",), {"s": others("s", "1")}, "compares with s = 1"),
    Requirement(
        ("metamorphic-exact",),
        {"kernel": others("kernel", "polynomial")},
        "a power of two does not commute with pow",
        {"task": SVM},
    ),
)
"""All that is required."""


def left_for(check: str, values: Mapping[str, str]) -> tuple[Values, str]:
    """What is left of every freedom of runs that a check may decide, some values given; or why of none."""
    left, why = left_by(VALUES | {name: (value,) for name, value in values.items()})
    for one in () if why else REQUIRED:
        if check in one.checks and all(set(left[x]) <= set(known) for x, known in one.given.items()):
            kept = {name: tuple(x for x in left[name] if x in known) for name, known in one.needs.items()}
            left, why = left_by(left | kept)
            if why or not all(kept.values()):
                return left, one.why
    return left, why
