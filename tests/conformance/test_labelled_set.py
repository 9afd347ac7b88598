"""A few solvers of the labelled set; `tox -e labelled` judges all of them, the C/MPI ones too."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

FOLDER = Path(__file__).parents[1] / "labelled"
sys.path.insert(0, str(FOLDER))

import measure  # noqa: E402
from c_solvers import PROGRAMS  # noqa: E402
from labelled_set import LABELLED  # noqa: E402

from sstep_verify.specification import specification  # noqa: E402

SOLVERS = {one.id: one for one in LABELLED}
QUICK = (
    "added windows", "float32", "SigmaHalved", "CorrectionOff", "UpperOff", "TailDropped", "OtherStream",
    "TimesM",
)  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_the_verdict_is_that_of_the_label_and_so_is_the_sentence(name):
    found = measure.found(SOLVERS[name], "smoke")
    assert found.right
    assert found.named or SOLVERS[name].right, found.row


def test_the_set_is_large_enough_and_its_labels_are_sentences():
    labels = [one.breaks for one in (*LABELLED, *PROGRAMS)]
    assert len(SOLVERS) == len(LABELLED)
    assert sum(not breaks for breaks in labels) >= 20
    assert sum(bool(breaks) for breaks in labels) >= 20
    assert {number for breaks in labels for number in breaks} <= {
        one.number for one in specification().sentences
    }


def test_a_missed_mistake_a_false_alarm_and_a_wrong_sentence_count():
    right, wrong = SOLVERS["forward"], SOLVERS["SigmaHalved"]
    well = [
        measure.Found(right, True, "", (), 1.0),
        measure.Found(wrong, False, "window-replay, s = 1", ("S-1.7", "S-1.8"), 1.0),
    ]
    words, good = measure.summed_up(well)
    assert good
    assert words.endswith("right sentences 1/1")
    assert "NOT OK" not in well[0].row + well[1].row
    for worse in (
        replace(well[0], passed=False),
        replace(well[1], passed=True),
        replace(well[1], sentences=("S-1.8", "S-1.7")),
        replace(well[1], sentences=()),
    ):
        assert "NOT OK" in worse.row
        assert not measure.summed_up([*well, worse])[1]
