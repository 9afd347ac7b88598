"""No field of a statement can be changed unseen: not alone, and not with its digest."""

from __future__ import annotations

import copy
import json

import pytest
from stated import mended

from sstep_verify.campaign.statement import verify
from sstep_verify.campaign.statement.record import digests_of, statement_from
from sstep_verify.campaign.statement.verify import StatementError, prove_statement, read_statement
from sstep_verify.errors import InputError
from sstep_verify.report.plain import plain

UNPROVED = ("environment", "solver.name", "solver.program")
"""Fields that no recorded run can show: a digest alone tells that they were changed."""


def leaves(value, where=""):
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{where}.{name}" if where else name)
        if where:
            yield f"{where}+"
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from leaves(item, f"{where}[{place}]")
        yield f"{where}+"
    else:
        yield where


def changed(values: dict, where: str) -> dict:
    """The document with one leaf changed, or one more entry in a list or table (`+`)."""
    found = copy.deepcopy(values)
    place, steps = found, where.removesuffix("+").replace("[", ".[").split(".")
    keys = [int(step[1:-1]) if step.startswith("[") else step for step in steps]
    # Names of packages may hold dots, and of none of them is a part a key.
    *path, last = keys
    for key in path:
        place = place[key]
    old = place[last]
    if where.endswith("+"):
        place[last] = [*old, old[-1] if old else "x"] if isinstance(old, list) else {**old, "added": "x"}
    elif isinstance(old, bool):
        place[last] = not old
    elif isinstance(old, str):
        place[last] = old + "x"
    else:
        place[last] = 0.5 if old is None else old * 2 + 1
    return found


def all_changes(values: dict) -> list[str]:
    return [
        where
        for where in leaves(values)
        if "." not in where.partition("environment.")[2].rpartition(".")[2]
    ]


def refused(act, values: dict, where: str) -> str:
    content = json.dumps(values).encode()
    with pytest.raises((StatementError, InputError)) as refusal:
        act(content)
    named = where.rstrip("+").partition(".")[0].partition("[")[0]
    assert named in str(refusal.value) or "digests" in str(refusal.value), (where, str(refusal.value))
    return str(refusal.value)


def test_every_changed_field_is_seen_and_named(right_copied):
    values = json.loads(right_copied.read_text("utf-8"))
    changes = all_changes(values)
    assert len(changes) > 400
    for where in changes:

        def read(content):
            right_copied.write_bytes(content)
            read_statement(right_copied)

        refused(read, changed(values, where), where)


def test_every_changed_field_that_runs_can_show_is_refused_where_its_digest_was_mended(right_judged):
    stated, results = right_judged
    values = plain(stated)
    judged_from = ("asked", "solver.declaration", "schema", "specification", "problems", "digests")
    unproved = 0
    for where in all_changes(values):
        if where.startswith(judged_from) and not where.endswith(
            ("status", "right_at", "samples", "features")
        ):
            continue
        if where.startswith(UNPROVED):
            unproved += 1
            continue

        def judged(content):
            altered = statement_from(content, "altered")
            assert altered.digests == digests_of(plain(altered))
            verify.compare(altered, verify.remade(altered, results))

        text = refused(judged, mended(changed(values, where)), where)
        if "altered:" not in text:  # One that the form itself refuses is named in its own way.
            assert where.rstrip("+").split(".added")[0] in text, text
    assert unproved > 20


CHOICES = (
    ("asked.profile", "ci"),
    ("asked.selection.ranks", [2]),
    ("asked.selection.s", [7, 9]),
    ("asked.selection.s", []),
    ("asked.selection.s", [1]),
    ("asked.selection.data", "small_regression"),
    ("asked.selection.tasks", ["svm-l2"]),
    ("asked.selection.kernels", ["linear"]),
    ("asked.only", "krr"),
    ("solver.declaration.update", "added"),
    ("solver.declaration.rbf", "difference"),
    ("solver.declaration.ranks", 2),
    ("solver.name", "/etc/mine.toml"),  # It would be read as a program file.
    ("specification", "0.9"),
)


@pytest.mark.parametrize(("where", "value"), CHOICES)
def test_runs_of_another_problem_s_or_solver_prove_nothing(right_copied, where, value):
    values = json.loads(right_copied.read_text("utf-8"))
    *path, last = where.split(".")
    place = values
    for key in path:
        place = place[key]
    assert place[last] != value
    place[last] = value
    right_copied.write_text(json.dumps(mended(values)), "utf-8")
    right_copied.with_suffix(".svg").unlink()
    with pytest.raises((StatementError, InputError)):
        prove_statement(right_copied)
