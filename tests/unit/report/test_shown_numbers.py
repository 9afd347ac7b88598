"""Numbers shown in pages and files are those of the document, and rounded to the side that keeps them true."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from decimal import Decimal

import numpy as np
import pytest
from test_reporting_documents import case, document, verdict

from sstep_verify.report.case import Certified, CertifiedRow
from sstep_verify.report.plain import at_least, at_most, enclosed, promised, rounded_up
from sstep_verify.report.tables import certified_table, of
from sstep_verify.report.verdicts import write_junit
from sstep_verify.verdict import Sensitivity, Status, Why
from studies.report.scaling import part as scaling_part
from studies.report.scaling.part import Scaling, ScalingPoint


def drawn(seed: int, count: int, low: float = -12, high: float = 3) -> list[float]:
    return (10.0 ** np.random.Generator(np.random.PCG64(seed)).uniform(low, high, count)).tolist()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, 0.0), (0.0201, 0.021), (0.02, 0.021), (1.0, 1.0), (1.01e-13, 1.1e-13), (99.1, 100.0)],
)
def test_numbers_are_rounded_up(value, shown):
    assert rounded_up(value) == shown >= value
    assert rounded_up(float("inf")) is None


def test_limits_are_rounded_to_their_own_side():
    """A number after `at most` is never below the one it stands for, nor one after `at least` above it."""
    for value in drawn(9, 300, -30, 30):
        for digits in (1, 2, 3):
            low, high = float(at_least(value, digits)), float(at_most(value, digits))
            assert low <= value <= high <= low * (1 + 10.0 ** (1 - digits) * 1.001)
    assert at_most(3.9365e-06, 2) == "4e-06"
    assert at_most(1e-8) == at_least(1e-8) == "1e-08"
    assert (at_most(0.0), at_most(float("inf"))) == ("0", "inf")


def test_what_is_promised_is_rounded_away_from_the_better():
    assert promised(1.2689e-12) == "1.3e-12"
    assert promised(float("inf")) == promised(None) == "none"
    assert enclosed(7.69e-07, 7.61e-06) == "[7.6e-07, 7.7e-06]"
    assert enclosed(0.0, float("inf")) == "[0, inf]"


def test_printed_intervals_enclose_and_promises_are_kept():
    for one, other in zip(drawn(1, 300), drawn(2, 300), strict=True):
        low, high = sorted((one, other))
        for ends in ((low, high), (-high, -low), (-low, high), (low, low)):
            shown = [Decimal(word) for word in enclosed(*ends).strip("[]").split(", ")]
            assert shown[0] <= Decimal(ends[0])
            assert Decimal(ends[1]) <= shown[1]
            assert shown[1] - shown[0] <= Decimal(ends[1] - ends[0]) + Decimal("0.2") * Decimal(high)
        assert Decimal(one) <= Decimal(promised(one)) <= Decimal(one) * Decimal("1.1")


def test_bounds_of_certified_optima_are_shown_no_smaller_than_they_are():
    numbers = [f"{Decimal(value):.6e}" for value in drawn(3, 150, -40, -20)]
    cases, rows = [], []
    for k, (radius, gap, distance) in enumerate(zip(*[iter(numbers)] * 3, strict=True)):
        cases.append(case(f"c{k}", parameters={"C": 1.0}))
        rows.append(
            CertifiedRow(
                f"c{k}", 20, 20, "1.25", radius, "0", gap, distance, 0, 0, 1, 0, "unique", "so", 1.0, 1.0, 1
            )
        )
    table = certified_table(document(cases, [], certified=Certified(tuple(rows))))
    assert len(table.rows) == len(rows) == 50
    for heading in ("Radius", "Gap, at most", "Distance from a*, at most"):
        (column,) = (one for one in table.shown if one.heading == heading)
        for row in table.rows:
            proved = of(row, column.value)
            told = column.shown(proved)
            assert Decimal(proved) <= Decimal(told) <= Decimal(proved) * Decimal("1.01")


@pytest.mark.parametrize("seen", [0, 5])
def test_a_junit_file_says_what_was_tested(tmp_path, seen):
    term = Sensitivity(
        "overlap",
        Status.PASS if seen else Status.VACUOUS,
        1e-9,
        12,
        12,
        seen,
        None if seen else Why.NO_EFFECT,
    )
    found = document([case("a")], [verdict("a", terms=(term,))])
    root = ElementTree.parse(write_junit(found, tmp_path / "junit.xml")).getroot()
    told = [one.get("value") for one in root.iter("property") if one.get("name") == "tested.overlap"]
    assert told == ["yes" if seen else "no"]


def test_speed_up_and_gain_are_those_of_the_last_point():
    classical, s_step, ours = 60.0, 12.0, 3.0
    point = ScalingPoint("a", 64, classical, s_step, 8, ours, "gram", 16, "9 %", "9 %", "9 %")
    first = point.__class__("a", 1, 70.0, 71.0, 2, 72.0, "allreduce", 2, "9 %", "9 %", "9 %")
    scaling = Scaling({"m": "9 %"}, (first, point), ())
    table = scaling_part.drawn(document([case("a")], [], scaling=scaling)).tables["scaling"]
    (row,) = table.rows
    shown = {column.heading: of(row, column.value) for column in table.shown}
    assert shown["Classical / s-step"] == classical / s_step
    assert shown["s-step / ours"] == s_step / ours
