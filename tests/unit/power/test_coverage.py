"""The coverage table: freedoms read from the types, a design in which all pairs meet, cells, reasons, mirror."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pytest

from sstep_verify.checks import metamorphic_exact
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import KNOWN, Declaration
from sstep_verify.verdict import Status
from studies.admissible.undeclared import Undeclared
from studies.coverage.cases import planned
from studies.coverage.freedoms import (
    CORE,
    CORES,
    DECLARED,
    MADE,
    NO_FREEDOM,
    NO_PLAN,
    PLANNED,
    SWITCH,
    SWITCHES,
    VALUES,
)
from studies.coverage.rules import NOT_PRINTED, REQUIRED, RULES, left_by, left_for
from studies.coverage.table import (
    AIMS,
    FREEDOMS,
    STRIDE,
    TRIES,
    all_pairs,
    count_run,
    design,
    drawn_row,
    numbers,
    pairs_of,
    wanted,
)
from studies.false_positives import groups, study
from studies.report.sensitivity.false_positives import (
    CROSSED,
    ENOUGH,
    AlarmUnit,
    CoverageDocument,
    CoverageRow,
    MirrorRow,
)

SEED = 11
RUNS = 12
PLACES = (0, 4, 8)


@pytest.fixture(scope="module")
def document():
    """Runs of the design, on this processor and on another one."""
    here = [AlarmUnit("design", SEED, place * STRIDE, RUNS) for place in PLACES]
    return study.summary([study.run(one) for one in (*here, AlarmUnit("design Prescott", SEED, 0, 9))])


def test_every_field_of_a_declaration_and_of_a_case_is_a_freedom_or_has_a_reason():
    assert {one.name for one in fields(Declaration)} == set(DECLARED) | set(NO_FREEDOM)
    assert not set(DECLARED) & set(NO_FREEDOM)
    assert {one.name for one in fields(Undeclared)} == set(MADE)
    assert {name for name, values in DECLARED.items() if values == SWITCH} == set(SWITCHES)
    for name, values in KNOWN.items():  # a new value is a new row
        assert set(DECLARED[name]) - {""} == set(values) - {""}
    told = {"block", "s", "storage", "range", "data", "written"}
    assert {one.name for one in fields(Case)} == (set(PLANNED) - told) | set(NO_PLAN)
    assert not set(PLANNED) & set(NO_PLAN)


def test_all_pairs_of_freedoms_meet_in_rows_that_obey_every_rule():
    rows, apart = design()
    met = {pair for row in rows for pair in pairs_of(row)}
    assert met | set(apart) == set(all_pairs())
    assert not met & set(apart)
    assert len(all_pairs()) == sum(
        len(VALUES[one]) * len(VALUES[two]) for one, two in combinations(VALUES, 2)
    )
    assert len(rows) < 150
    for row in rows:
        assert all(row[one.name] not in one.values or row[one.other] in one.left for one in RULES)


def test_what_cannot_meet_is_reported_by_a_rule():
    rules = {rule.why for rule in RULES}
    _, apart = design()
    assert set(apart.values()) <= rules
    assert apart[("task", "krr"), ("maintained", "gradient")] == "a residual is what K-RR has"
    assert left_by(VALUES | {"level": ("0",), "log": ("yes",)})[1] in rules
    assert left_by(VALUES)[0] == VALUES  # no value is impossible alone


def test_a_row_is_read_back_from_the_solver_and_the_case_made_for_it():
    generator = np.random.Generator(np.random.PCG64(SEED))
    for row in design()[0][::5]:
        row = row | {"processor": os.environ.get(CORE, "")}
        made = planned(generator, row).row
        assert set(made) == set(VALUES)
        same = {name for name, value in row.items() if made[name] == value}
        assert set(row) - same <= {"initial", "claims"}, (
            row
        )  # a start drawn as zeros; a claim not to be had


@pytest.mark.nightly
def test_no_correct_run_of_the_design_fails_and_each_defect_is_refused(document):
    assert document.made == RUNS * len(PLACES) + 9
    assert [(one.unit.first, one.check, one.reason) for one in document.alarms] == []
    assert document.judged > document.made // 4
    assert document.coverage is not None
    assert document.coverage.missed == []
    defects = {one.name.partition(":")[0] for one in document.coverage.mirror if one.made}
    assert len(defects) > len(CHECKS) // 2


@pytest.mark.nightly
def test_cells_are_counted_by_decided_runs_alone(document):
    table = {(row.check, row.freedom, row.value): row for row in document.coverage.rows}
    assert len(table) == len(CHECKS) * sum(len(VALUES[name]) for name in FREEDOMS)
    assert all(row.largest <= 1.0 for row in table.values())
    for check in CHECKS:
        counts = {
            sum(sum(table[check, name, value].decided) for value in VALUES[name]) for name in DECLARED
        }
        assert len(counts) == 1, check  # every decided run has one value of each freedom
    assert 0 < sum(sum(table[check, "processor", "Prescott"].decided) for check in CHECKS) <= 9
    assert sum(table["box", "log", "no"].decided[6:]) == 0
    assert set(table["box", "log", "no"].reasons.values()) == {"K-RR has no box"}


@pytest.mark.nightly
def test_vacuous_and_inconclusive_verdicts_decide_nothing():
    told = {Status.PASS: set(), Status.VACUOUS: set()}
    for number in range(0, STRIDE, 37 * TRIES):
        if wanted(number)[2]:
            continue
        judged = groups.of_a_design(np.random.Generator(np.random.PCG64(number)), number)
        for one in judged.verdicts:
            told[one.status].add(one.check in judged.ratios)
    assert told == {Status.PASS: {True}, Status.VACUOUS: {False}}


@pytest.mark.nightly
def test_no_reason_is_given_for_a_cell_that_has_decided_runs(document):
    found = [
        (row.check, row.freedom, row.value, place)
        for row in document.coverage.rows
        for place, decided in zip(CROSSED, row.decided, strict=True)
        if decided
        and left_for(
            row.check, {row.freedom: row.value, **dict(zip(("task", "kernel"), place.split(), strict=True))}
        )[1]
    ]
    assert found == []


def test_reasons_are_of_checks_that_there_are():
    assert {check for one in REQUIRED for check in one.checks} <= set(CHECKS)
    assert set(NOT_PRINTED) < set(CHECKS)
    assert left_for("kernel-entries", {"level": "1"})[1]
    assert not left_for("kernel-entries", {"level": "2"})[1]
    assert left_for("step-replay", {"level": "0"})[1]
    assert not left_for("residual-gap", {"task": "krr", "update": "added"})[1]


def test_reasons_of_metamorphic_exact_are_those_of_the_check():
    """A K-SVM has no relation but by scaled data, which a polynomial kernel may raise by a library's pow."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    for place in CROSSED:
        task, kernel = place.split()
        left, why = left_for("metamorphic-exact", {"task": task, "kernel": kernel})
        row = drawn_row(
            generator, left if not why else left_by(VALUES | {"task": (task,), "kernel": (kernel,)})[0]
        )
        case = planned(generator, row).case
        assert bool(metamorphic_exact.CHECK.runs(case)) == (not why), place


@pytest.mark.nightly
def test_runs_are_drawn_until_every_cell_of_a_task_and_kernel_is_covered():
    place, found = "svm-l2 linear", {}
    first = CROSSED.index(place) * STRIDE
    generator = np.random.Generator(np.random.PCG64(SEED))
    for number in numbers(first, 10**5, found):  # each is taken to decide
        (aim, left, why), (check, name, value) = wanted(number), AIMS[number % STRIDE // TRIES]
        assert (aim, why, left[name]) == (check, "", (value,))
        assert " ".join(left["task"] + left["kernel"]) == place
        row = {one: str(generator.choice(kept)) for one, kept in left.items()}
        count_run(found, Counter(), row, {check: 0.5})
    for cell, (check, name, value) in enumerate(AIMS):
        if not wanted(first + cell * TRIES)[2]:
            decided, _ = found[f"{check} {place} {name}={value}"]
            assert decided >= (ENOUGH if name == "processor" else ENOUGH / len(CORES))


def test_cells_of_which_runs_decide_nothing_are_tried_in_turn():
    found = list(numbers(0, 2 * len(AIMS), {}))
    tried = Counter(number // TRIES for number in found)
    assert len(set(found)) == len(found) == 2 * len(AIMS)
    assert max(tried.values()) - min(tried.values()) <= 1


def test_the_sentence_counts_cells_that_are_neither_covered_nor_explained():
    counts = (ENOUGH, ENOUGH - 1, 0, 0, 40, 40, 40, 40, 40)
    row = CoverageRow("box", "log", "yes", counts, 0.5, {CROSSED[3]: "no such thing"})
    found = CoverageDocument(
        7, 2, ("one pair",), (MirrorRow("box: clip", 3, 2),), (row,), ("box, log = no",)
    )
    assert [re.findall(r"\d+", one) for one in found.sentences] == [
        ["6", "9", str(ENOUGH)],
        ["1", "2"],
        ["6", "7", "2"],
        ["2", "3"],
    ]
    assert found.neither == [
        f"box, log = yes, {CROSSED[1]}: 29 decided",
        f"box, log = yes, {CROSSED[2]}: 0 decided",
    ]
    assert found.missed == ["box: clip: 1 of 3 not detected"]
    assert row.texts[0] == "30 (< 9.5%)"
    assert row.texts[3] == "no such thing"
    assert "| check | box | 0.5 |" in found.in_words
    lines = found.in_words.splitlines()
    assert [line for line in lines if line.startswith("- ")] == [
        *(f"- {one}." for one in found.sentences),
        *(f"- `{one}`" for one in (*found.neither, "one pair", *found.missed, "box, log = no")),
    ]
    assert "none" not in lines
    assert replace(found, unmet=()).in_words.splitlines().count("none") == 1
