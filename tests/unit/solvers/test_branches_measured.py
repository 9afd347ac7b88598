"""The table of the solver's branches fits its source, and each that no campaign runs has its reason."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "branches" / "solver_branches.py"
SPEC = importlib.util.spec_from_file_location("solver_branches", FILE)
assert SPEC is not None
assert SPEC.loader is not None
branches = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(branches)

MADE_BY = "python tests/branches/solver_branches.py (tox -e branches) measures them anew"


def test_the_table_has_every_module_as_it_decides_today():
    table = {
        one["module"]: one["digest"] for one in branches.read(branches.MODULES) if one["module"] != "all"
    }
    found = {branches.name_of(path): branches.digest(path) for path in branches.modules()}
    assert len(found) > 30
    changed = {name for name in found.keys() | table.keys() if found.get(name) != table.get(name)}
    assert not changed, MADE_BY


def test_every_way_that_no_campaign_takes_has_a_reason():
    left = branches.read(branches.LEFT)
    total = branches.read(branches.MODULES)[-1]
    assert int(total["ways"]) - int(total["taken"]) == len(left) > 0
    assert [one for one in left if len(one["reason"].split()) < 3] == [], MADE_BY
    assert {one["reason"].partition(":")[0] for one in left} <= set(branches.KINDS)


@pytest.mark.parametrize(
    "changed", ["if x > 1:\n    pass\n", "while x:\n    pass\n", "for x in (1, 2):\n    pass\n"]
)
def test_another_condition_is_another_digest(tmp_path, changed):
    path = tmp_path / "module.py"
    path.write_text("if x:\n    pass\n")
    before = branches.digest(path)
    path.write_text('"""With a docstring."""\nif x:\n    y = 1\n')
    assert branches.digest(path) == before
    path.write_text(changed)
    assert branches.digest(path) != before
