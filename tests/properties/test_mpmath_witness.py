"""mpmath beside Arb on drawn problems; every kind of planted disagreement is seen."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import pytest
from click.testing import CliRunner

from sstep_verify.cli.commands.oracle import command
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle import witness
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.witness import TRAJECTORY_DIGITS, agreements, drawn_cases

DIGITS = 25
CASES = list(drawn_cases(int(os.environ.get("SSTEP_VERIFY_DRAWS", "450")) // 25, seed=7))


def certified(problem):
    return certify(problem, DIGITS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].label)
def test_arb_and_mpmath_agree_on_drawn_problems(case, record_property):
    problem, stream = case
    found = agreements(problem, certified(problem), stream)
    for part in found:
        record_property(f"digits of the {part.part}", part.digits)
    assert [part.part for part in found if not part.holds] == []
    value, gap, trajectory = (part.digits for part in found)
    assert min(value, gap) >= DIGITS
    assert trajectory >= TRAJECTORY_DIGITS


@pytest.mark.parametrize("place", range(3), ids=["svm-l1", "svm-l2", "krr"])
@pytest.mark.parametrize(
    ("field", "part"), [("objective", "optimal value"), ("gap", "gap")], ids=["value", "gap"]
)
def test_a_certificate_that_states_another_number_is_seen(place, field, part):
    problem, stream = CASES[place]
    right = certified(problem)
    stated = getattr(right, field)
    moved = Fraction(stated.middle) + Fraction(right.objective.middle) / 10**DIGITS
    planted = replace(stated, middle=f"{moved.numerator * 10**90 // moved.denominator}e-90")
    found = agreements(problem, replace(right, **{field: planted}), stream)
    assert [one.part for one in found if not one.holds] == [part]
    assert {one.part: one.digits for one in found}[part] <= DIGITS


@pytest.mark.parametrize("place", range(3), ids=["svm-l1", "svm-l2", "krr"])
def test_a_trajectory_of_float64_is_seen(place, monkeypatch):
    problem, stream = CASES[place]
    monkeypatch.setattr(witness, "TRAJECTORY_BITS", 53)
    (wrong,) = [one for one in agreements(problem, certified(problem), stream) if not one.holds]
    assert wrong.part == "trajectory"
    assert 10 < wrong.digits < TRAJECTORY_DIGITS


def test_the_command_prints_the_digits_and_ends_by_a_disagreement(monkeypatch):
    done = CliRunner().invoke(command, ["--witness", "mpmath", "--digits", "20"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert len(lines) == 19
    assert all("digits in common with mpmath: optimal value" in line for line in lines[:-1])
    assert lines[-1] == "mpmath agrees with all that Arb proved of 18 drawn problems"
    monkeypatch.setattr(witness, "TRAJECTORY_BITS", 53)
    refused = CliRunner().invoke(command, ["--witness", "mpmath", "--digits", "20"])
    assert isinstance(refused.exception, OracleDisagreementError)
    assert "trajectory to 1" in str(refused.exception)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["duke", "--witness", "mpmath"], "DATA does not go with --witness"),
        (["--witness", "mpmath", "--task", "krr"], "--task does not go with --witness"),
        (["duke", "--task", "svm-l1", "--witness", "mpmath", "--final", "x"], "does not go with --witness"),
        (["--verify", "x.json", "--final", "x"], "--final does not go with --verify"),
    ],
)
def test_what_would_not_be_looked_at_is_refused(given, said):
    done = CliRunner().invoke(command, given)
    assert (done.exit_code, said in done.output) == (2, True)
