"""Which values of freedoms go together: what one value leaves of others, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sstep_verify.solvers.production.options import Options
from studies.coverage.freedoms import NO, OWN_EXCHANGES, VALUES, YES, declared_values

Values = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Rule:
    """Where a freedom has one of some values, another has one of some.

    Parameters
    ----------
    why : str
        The reason.
    name, values : str, set of str
        The freedom, and the values of which the rule speaks.
    other, left : str, set of str
        The other, and the values that are left to it.
    """

    why: str
    name: str
    values: frozenset[str]
    other: str
    left: frozenset[str]


def _rules(why: str, name: str, values: tuple[str, ...], then: Values) -> list[Rule]:
    return [Rule(why, name, frozenset(values), other, frozenset(left)) for other, left in then.items()]


def options_of(row: dict[str, str], samples: int = 8) -> dict[str, Any]:
    """Options of the production solver for a row with an exchange of its own."""
    exchange, keeps = row["exchange"], {"kept-gram": "keep_gram", "column-cache": "cache"}
    own: dict[str, Any] = {"exchange": "allreduce" if exchange in keeps else exchange}
    own |= {keeps[exchange]: 4 * samples} if exchange in keeps else {}
    own |= {"keep_gram": True} if exchange == "kept-gram" else {}
    return own | {"update": row["update"], "rbf": row["rbf"], "recompute": 3 * (row["recompute"] == YES)}


def _production(exchange: str) -> list[Rule]:
    row = {"exchange": exchange, "update": "in-place", "rbf": "difference", "recompute": NO}
    declared = declared_values(Options(**options_of(row)).declaration(1))
    free = {"update": ("in-place", "frozen"), "rbf": VALUES["rbf"], "ranks": VALUES["ranks"]}
    if exchange == "gram":
        free |= {"recompute": VALUES["recompute"], "kernel": ("linear",)}
    fixed = {name: (value,) for name, value in declared.items() if name not in free}
    apart = {"claims": (NO,), "written": ("binary",), "unit": ("1",)}
    why = f"exchange {exchange} is made by the production solver alone, which declares the rest"
    return _rules(why, "exchange", (exchange,), fixed | free | apart)


def others(name: str, *values: str) -> tuple[str, ...]:
    """The values of a freedom but some."""
    return tuple(value for value in VALUES[name] if value not in values)


HIDDEN = dict.fromkeys(("panels", "blocks", "probes"), (NO,))
SVM = ("svm-l1", "svm-l2")

ROUNDED = "a known to a rounding only is judged by its ends (level 0)"

RULES: tuple[Rule, ...] = (
    *_rules("K-SVM draws one coordinate a step", "task", SVM, {
        "block": ("1",), "state": others("state", "residual")}),
    *_rules("a residual is what K-RR has", "task", ("krr",), {"state": others("state", "gradient")}),
    *_rules("weights are of the linear kernel", "kernel", others("kernel", "linear"), {
        "state": others("state", "weights"), "exchange": others("exchange", "gram")}),
    *(rule for exchange in OWN_EXCHANGES for rule in _production(exchange)),
    *_rules(ROUNDED, "scaled", (YES,), {"level": ("0",)}),
    *_rules(ROUNDED, "written", ("decimals",), {"level": ("0",)}),
    *_rules("no bound is derived for a state in another scale", "scaled", (YES,), {"state": ("",)}),
    *_rules("float64 holds no product of a longdouble with a scale", "scaled", (YES,), {
        "precision": ("float32", "float64")}),
    *_rules("level 0 shows no step", "level", ("0",), {"log": (NO,), "exchange": ("",), **HIDDEN}),
    *_rules("level 1 shows no window", "level", ("1",), {"exchange": ("",), **HIDDEN}),
    *_rules("level 2 shows no counts", "level", ("2",), {"exchange": ("",)}),
    *_rules("who has whole rows shows these", "panels", (YES,), {"blocks": (NO,)}),
    *_rules("a number of Gram rows is one of exchange kept-gram", "gram_rows", (YES,), {
        "exchange": ("kept-gram",)}),
    *_rules("a cache is one of exchange column-cache", "cache_words", (YES,), {
        "exchange": ("column-cache",)}),
    *_rules("only what is carried is formed anew", "state", ("",), {"recompute": (NO,)}),
    *_rules("expl of C libraries errs by more than a unit", "precision", ("longdouble",), {
        "function_ulps": ("more",)}),
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
