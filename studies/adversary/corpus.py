"""The committed worst cases: read, made and judged again, written anew after a search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from importlib import resources

import msgspec

from sstep_verify.inputs.records import convert, decode
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.verdict import worst
from studies.adversary.measures import (
    LOSS,
    RATIO,
    RATIOS,
    judged,
    ratio_of,
    solver_named,
    value_of,
)
from studies.reporting.sensitivity.alarms import AdversaryDocument, HardCase, ReplayedCase

FILE = "corpus.json"

DIGITS = 4
"""Digits of a value that are kept."""


def corpus() -> tuple[HardCase, ...]:
    """The committed cases.

    Raises
    ------
    InputError
        If the file is not what `written` makes.
    """
    content = resources.files(__package__).joinpath(FILE).read_bytes()
    cases: tuple[HardCase, ...] = convert(decode(content, FILE), tuple[HardCase, ...], FILE)
    return cases


def written(cases: Iterable[HardCase]) -> bytes:
    """The file of some cases, one a line."""
    lines = []
    for one in cases:
        held = asdict(one)
        for name in ("value", "random"):
            held[name] = float(f"{held[name]:.{DIGITS}g}")
        lines.append(msgspec.json.encode(held))
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def replayed(case: HardCase) -> ReplayedCase:
    """One case, made and judged again, its notable steps in exact arithmetic too."""
    variant, scenario = solver_named(case.solver), Scenario.from_id(case.scenario)
    made = judged(case.measure, variant, scenario, exact=True)
    again = case.measure in (LOSS, RATIO)  # of the others it is the ratio of this very run
    value = value_of(case.measure, variant, scenario) if again else ratio_of(made)
    return ReplayedCase(case, worst(one.status for one in made.verdicts).value, value)


def replay() -> AdversaryDocument:
    """All cases of the corpus, in seconds."""
    found = tuple(replayed(case) for case in corpus())
    return AdversaryDocument(
        found,
        failed=sum(one.status == "FAIL" for one in found),
        ratio=max((one.value for one in found if one.case.measure in RATIOS), default=0.0),
        loss=max((one.value for one in found if one.case.measure == LOSS), default=0.0),
    )
