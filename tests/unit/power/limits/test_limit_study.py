"""The study: its units, and its documents as plain values."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from sstep_verify.files.records import convert, strict
from studies.limits import study
from studies.limits.rows import summary
from studies.report.sensitivity.limits import LimitOutcome, LimitsDocument, LimitUnit


def test_every_unit_has_a_name_and_a_seed_of_its_own():
    for small in (False, True):
        units = study.units(3, small=small)
        assert len({unit.id for unit in units}) == len({unit.seed for unit in units}) == len(units)
        assert {unit.task for unit in units} == {"svm-l1", "svm-l2", "krr"}
        assert units == study.units(3, small=small)
        assert not {unit.seed for unit in units} & {unit.seed for unit in study.units(4, small=small)}
    whole = study.units()
    assert sum(unit.wanted for unit in whole if unit.kind == "doses") >= 300
    assert all(unit.wanted == 59 for unit in whole if unit.kind == "limits")


def test_units_outcomes_and_documents_go_through_files():
    units = [unit for unit in study.units(small=True) if unit.task == "svm-l1"]
    outcomes = [study.run(replace(unit, wanted=1, most=3)) for unit in units]
    document = summary(outcomes)
    assert document == summary(outcomes[::-1])
    assert document.pairs == 1
    for value, kind in (
        (units[0], LimitUnit),
        (outcomes[0], LimitOutcome),
        (outcomes[1], LimitOutcome),
        (document, LimitsDocument),
    ):
        text = json.loads(json.dumps(asdict(value), allow_nan=False))
        convert(text, strict(kind, {}), "record")
        assert convert(text, kind, "record") == value
