"""The breaks of features: each still changes one line, and is noticed by tests that are there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from breaks import ROOT, listed


def test_every_break_changes_one_line_that_is_there():
    found = listed()
    assert len(found) >= 30
    assert max(Counter(one.id for one in found).values()) == 1
    for one in found:
        text = (ROOT / one.file).read_text("utf-8")
        assert text.count(one.old) == 1, one.id
        assert "\n" not in one.old
        assert one.old != one.new
        compile(text.replace(one.old, one.new), one.file, "exec")
        assert one.tests, one.id
        assert all((ROOT / test.partition("::")[0]).is_file() for test in one.tests), one.id


def test_breaks_are_spread_over_the_packages():
    rooms = {Path(one.file).parts[1] for one in listed()}
    packages = {path.parent.name for path in (ROOT / "sstep_verify").glob("*/__init__.py")}
    assert packages - rooms <= {"recurrence"}, "of the defects every one is tried by itself"
