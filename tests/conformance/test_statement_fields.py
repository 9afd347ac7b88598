"""No field of a statement can be changed unseen: not alone, and not with its digest."""

from __future__ import annotations

import copy
import json
import re

import pytest
from stated import rewritten

from sstep_verify.campaign.statement import verify
from sstep_verify.campaign.statement.files import StatementError, read_statement
from sstep_verify.campaign.statement.make import Statement
from sstep_verify.campaign.statement.verify import prove_statement
from sstep_verify.errors import InputError
from sstep_verify.files.records import build
from sstep_verify.report.plain import plain
from sstep_verify.report.results import loads

PROVED = {
    "statement.json": re.compile(r"outcome|right|worst|sentences"),
    "results.json": re.compile(
        r"summary\.(exit_code|right_at|vacuous|counts|steps|steps_judged)\b"
        r"|cases(\[\d+\]\.(id|status|s\b|samples|features)|\+)"
        r"|verdicts(\[\d+\]\.(check|case|s|status|ratio|planned|executed|sentences)\b|\+)"
        r"|verdicts\[\d+\]\.terms\[\d+\]\.(name|status)"
        r"|campaign\.parameters\.too_few|provenance\.data\.\w+$"
    ),
}
"""What recorded runs show; of the rest a digest alone tells that it was changed."""


def leaves(value, keys=()):
    """The keys of every leaf of a document, and of a further entry (`+`) of every list and table."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*keys, key))
        if keys:
            yield (*keys, "+")
    else:
        yield keys


def named(keys) -> str:
    words = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return words.lstrip(".").replace(".+", "+")


def changed(values: dict, keys) -> dict:
    """The document with one leaf changed, or one more entry in a list or table."""
    place = found = copy.deepcopy(values)
    more = keys[-1] == "+"
    *path, last = keys[:-1] if more else keys
    for key in path:
        place = place[key]
    old = place[last]
    if more:
        place[last] = [*old, old[-1] if old else "x"] if isinstance(old, list) else {**old, "added": "x"}
    elif isinstance(old, bool):
        place[last] = not old
    elif isinstance(old, str):
        place[last] = old + "x"
    else:
        place[last] = 0.5 if old is None else old * 2 + 1
    return found


def test_every_changed_field_is_seen_and_its_file_is_named(right_copied):
    for name, least, most in (("statement.json", 150, 400), ("results.json", 400, 100)):
        whole = (right_copied / name).read_bytes()
        changes = list(leaves(json.loads(whole)))
        assert len(changes) > least
        for keys in changes[:: 1 + len(changes) // most]:
            (right_copied / name).write_text(json.dumps(changed(json.loads(whole), keys)), "utf-8")
            with pytest.raises((StatementError, InputError), match=name):
                read_statement(right_copied)
        (right_copied / name).write_bytes(whole)
    read_statement(right_copied)


@pytest.mark.parametrize("name", PROVED)
def test_every_changed_field_that_runs_can_show_is_refused_where_its_digest_was_mended(right_judged, name):
    stated, results, again = right_judged

    def judged(document):
        if name == "statement.json":
            verify.compare(build(document, Statement, "altered"), results, again)
        else:
            verify.compare(stated, loads(json.dumps(document), "altered"), again)

    values = plain(stated) if name == "statement.json" else results.as_dict()
    proved = [keys for keys in leaves(values) if PROVED[name].match(named(keys))]
    assert len(proved) > 100
    for keys in proved:
        with pytest.raises((StatementError, InputError)) as refusal:
            judged(changed(values, keys))
        text, where = str(refusal.value), named(keys)
        if text.startswith(
            "statement refused"
        ):  # One that the form itself refuses is named in its own way.
            where = where.removeprefix("provenance.").replace("campaign.parameters.too_few", "shortfalls")
            assert re.sub(r"(\.terms.*|\[\d+\])?\+?$", "", where)[:40] in text, (where, text)


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
    values = json.loads((right_copied / "statement.json").read_text("utf-8"))
    *path, last = where.split(".")
    place = values
    for key in path:
        place = place[key]
    assert place[last] != value
    place[last] = value
    rewritten(right_copied, "statement.json", values)
    (right_copied / "badge.svg").unlink()
    with pytest.raises((StatementError, InputError)):
        prove_statement(right_copied)
