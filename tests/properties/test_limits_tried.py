"""An error as large as a limit that is printed fails, or the limit printed of it is larger: drawn problems.

`studies.limits.drawn` has the problems and the doses. Where SSTEP_VERIFY_DRAWS is set, two thirds as many doses
are made (30,000: 20,000).
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import count

import pytest

from sstep_verify.checks import window_replay
from sstep_verify.checks.steps import seen
from sstep_verify.checks.window import tries
from studies.limits import drawn
from studies.limits.drawn import CHECKS, FAILED, FALSE, FOUND, LOSSES, Dosed, dosed_runs

FEWEST = 60
DOSES = max(int(os.environ.get("SSTEP_VERIFY_DRAWS", "0")) * 2 // 3 // len(LOSSES), FEWEST)
"""Doses of each kind, at least."""

FEW = 15
"""Doses of each loss by day."""


def judged_doses(
    task: str, most: int, seed: int = 46, *, first: bool = False, checks: tuple[str, ...] = CHECKS
) -> tuple[Counter[str], list[Dosed]]:
    """What dosed runs of drawn problems came to, and those of which something false is said.

    They end with the `first` of these, if so asked.
    """
    counts, false = Counter[str](), list[Dosed]()
    for number in count():
        for one in dosed_runs(seed, number, task, checks):
            counts[one.found] += 1
            false += [one] * (one.found == FALSE)
        if counts.total() >= most or (first and false):
            break
    return counts, false


@pytest.mark.parametrize("most", [FEW, pytest.param(DOSES, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", LOSSES)
def test_no_run_passes_with_an_error_that_its_verdict_says_would_have_shown(task, most, record_property):
    counts, false = judged_doses(task, most)
    record_property("doses", f"{task}: {dict(counts)}")
    print(f"{task}: {dict(counts)}")
    assert not false
    assert counts[FAILED] > counts.total() // 2


def test_with_the_better_sign_alone_false_limits_are_printed(monkeypatch):
    """Limits of steps that hold for one sign of an error: the smaller of both instead of the larger."""
    monkeypatch.setattr(seen, "max", min, raising=False)
    assert judged_doses("svm-l1", 200, seed=2, first=True)[1]


def test_with_the_effect_of_one_small_error_false_limits_of_windows_are_printed(monkeypatch):
    """Limits of windows by the effect of an error of one size and sign, which is not what they try."""
    monkeypatch.setattr(tries, "_limit", lambda name, windows: min(one.guess(name) for one in windows))
    assert judged_doses("svm-l1", 400, seed=3, first=True, checks=(window_replay.ID,))[1]


def test_the_study_continues_from_its_table(tmp_path):
    whole, ended = tmp_path / "whole.tsv", tmp_path / "ended.tsv"
    counts = drawn.study(25, 5, whole)
    assert counts.total() >= 25
    assert set(counts) <= set(FOUND)
    lines = whole.read_text("utf-8").splitlines(keepends=True)
    # Ended in the middle of a problem, and of a row.
    ended.write_text("".join(lines[:14]) + lines[14][:9], "utf-8")
    assert drawn.study(25, 5, ended) == counts
    assert ended.read_bytes() == whole.read_bytes()


def test_a_false_limit_is_counted_and_ends_with_an_error_code(tmp_path, monkeypatch, capsys):
    false = Dosed(0, "some", 1, CHECKS[0], "labels", 1e-14, 2e-14, FALSE, 1e-14)
    monkeypatch.setattr(drawn, "dosed_runs", lambda *_: [false])
    table = tmp_path / "doses.tsv"
    assert drawn.main(["--doses", "3", "--table", str(table)]) == 1
    assert capsys.readouterr().out == "3 doses: 0 failed, 0 refused, 0 larger limit, 3 false\n"
    assert table.read_text("utf-8").count(f"\t{FALSE}\t") == 3
