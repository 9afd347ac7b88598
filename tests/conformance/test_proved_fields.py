"""No field of a report can be changed unseen: the report is made again, whatever the field."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import command
from daily import some
from kept import copied, kept_report, mended

from sstep_verify.campaign import again
from sstep_verify.campaign.again import is_near, neighbours, prove_again
from sstep_verify.errors import InputError
from sstep_verify.report.results import dumps, load, loads

CONDITIONS = re.compile(
    r"summary\.(seconds|peak_memory_bytes)|cases\[\d+\]\.(runs\[\d+\]\.seconds|check_seconds\b)|provenance\b"
    r"|campaign\.parameters\.processes"
)
"""What no run shows: times, memory, host and provenance."""

IN_RESULTS = (
    "campaign.name", "campaign.title", "campaign.description", "campaign.parameters.only",
    "campaign.parameters.planned[0]", "campaign.parameters.minimum_executed.box", "summary.sentence",
    "summary.exit_code", "summary.counts.step-replay.FAIL", "summary.coverage.box.executed",
    "summary.steps_judged", "summary.steps", "summary.interrupted", "summary.power",
    "cases[0].id", "cases[0].kernel", "cases[0].loss", "cases[0].task", "cases[0].dataset",
    "cases[0].samples", "cases[0].features", "cases[0].parameters.C", "cases[0].status", "cases[0].reason",
    "cases[0].s[1]", "cases[0].facts.solver", "cases[0].facts.ranks", "cases[0].facts.optimum_found_by",
    "cases[0].runs[0].stop", "cases[0].series[0].y[2]", "verdicts[0].check", "verdicts[1].status",
    "verdicts[2].ratio", "verdicts[3].bound", "verdicts[3].measured", "verdicts[4].executed",
    "verdicts[5].reason", "verdicts[6].s", "verdicts[7].replay", "verdicts[8].problem",
)  # fmt: skip
"""Forty fields of results.json."""

IN_FILES = (
    ("index.html", "<h1>", "<h1>Best: "),
    ("index.html", "faulty on 1", "correct on 1"),
    ("index.html", "rbf", "linear"),
    ("index.html", "exit code", "exit  code"),
    ("junit.xml", "bound", "bounds"),
    ("tables/verdicts.csv", "FAIL", "PASS"),
)
"""Further edits: file, what is replaced, by what."""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory) -> Path:
    """The report of a faulty solver, with its runs; to be copied, not changed."""
    return kept_report(tmp_path_factory.mktemp("wrong"), "Defective", 1)


@pytest.fixture
def once(wrong, monkeypatch):
    """The report is made again once; it is what every copy is compared with."""
    made = made_once(wrong)
    monkeypatch.setattr(again, "_made_again", lambda *_: made)


MADE: dict[Path, object] = {}


def made_once(report: Path):
    if report not in MADE:
        MADE[report] = prove_again(report).results
    return MADE[report]


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
        place[last] = "PASS" if old == "FAIL" else old + "x"
    else:
        place[last] = 0.5 if old is None else old * 2 + 1
    return found


def is_refused(report: Path) -> bool:
    try:
        return bool(prove_again(report).differences)
    except InputError:
        return True


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(one, marks=[pytest.mark.nightly] * (place % 8 > 0))
        for place, one in enumerate(IN_RESULTS)
    ],
)
def test_an_edited_field_is_refused_whose_digests_were_made_again(wrong, tmp_path, once, where):
    report = copied(wrong, tmp_path)
    values = json.loads((report / "results.json").read_text("utf-8"))
    (keys,) = [keys for keys in leaves(values) if named(keys) == where]
    (report / "results.json").write_text(json.dumps(changed(values, keys)), "utf-8")
    mended(report)
    try:
        load(report / "results.json")
    except InputError:  # what the form of a report refuses by itself
        assert is_refused(report)
        return
    found = prove_again(report).differences
    assert any(one.where.startswith(where.rpartition(".")[0]) for one in found), found


@pytest.mark.parametrize(("name", "old", "new"), some(IN_FILES, of=2, first=1))
def test_an_edited_page_or_table_is_refused(wrong, tmp_path, once, name, old, new):
    report = copied(wrong, tmp_path)
    assert not is_refused(report)
    text = (report / name).read_text("utf-8")
    assert old in text, old
    (report / name).write_text(text.replace(old, new, 1), "utf-8")
    (found,) = prove_again(report).differences
    assert found.where.startswith(f"{name}, line ")
    assert found.stated != found.made


def test_results_and_page_edited_alike_are_refused(wrong, tmp_path, once):
    report = copied(wrong, tmp_path)
    for name in ("results.json", "index.html", "junit.xml", "tables/verdicts.csv"):
        text = (report / name).read_text("utf-8")
        (report / name).write_text(
            text.replace("faulty on 1", "correct on 1").replace("FAIL", "PASS"), "utf-8"
        )
    assert is_refused(report)
    text = (wrong / "results.json").read_text("utf-8")
    (report / "results.json").write_text(text.replace("\n", "\n "), "utf-8")
    assert is_refused(report), "the same values in other text are no file of ours"


@pytest.mark.parametrize("tried", [100, pytest.param(400, marks=pytest.mark.nightly)])
def test_every_leaf_but_conditions_is_made_again(wrong, tried):
    stated, made = load(wrong / "results.json"), made_once(wrong)
    values = json.loads(dumps(stated))
    every = [keys for keys in leaves(values) if not CONDITIONS.match(named(keys))]
    assert len(every) > 1000
    unseen = []
    for keys in every[:: 1 + len(every) // tried]:
        try:
            found = loads(json.dumps(changed(values, keys)))
        except InputError:
            continue
        if not any(again.compared(found, again.with_conditions_of(found, made), elsewhere=False)):
            unseen.append(named(keys))
    assert unseen == []
    for keys in (keys for keys in leaves(values) if CONDITIONS.match(named(keys)) and keys[-1] != "+"):
        found = loads(json.dumps(changed(values, keys)))
        assert not any(again.compared(found, again.with_conditions_of(found, made), elsewhere=False))


def test_numbers_may_differ_in_their_second_digit_on_another_machine_only(
    wrong, tmp_path, monkeypatch, once
):
    report = copied(wrong, tmp_path)
    values = json.loads((report / "results.json").read_text("utf-8"))
    place, one = next((k, one) for k, one in enumerate(values["verdicts"]) if (one["ratio"] or 0) > 1e-3)
    one["ratio"] = next_above(one["ratio"])
    for name in ("index.html", "junit.xml", "tables", "figures"):
        path = report / name
        path.unlink() if path.is_file() else [file.unlink() for file in path.iterdir()]
    write = (report / "results.json").write_text
    write(json.dumps(values), "utf-8")
    (found,) = prove_again(report).differences
    assert found.where == f"verdicts[{place}].ratio"
    here = again.made_with()
    monkeypatch.setattr(again, "made_with", lambda: here | {"processor": "another"})
    proved = prove_again(report)
    assert (proved.differences, proved.elsewhere) == ((), ("processor",))
    one["ratio"] = next_above(one["ratio"])
    write(json.dumps(values), "utf-8")
    assert [found.where for found in prove_again(report).differences] == [f"verdicts[{place}].ratio"]
    values = json.loads((wrong / "results.json").read_text("utf-8"))
    failed = next(one for one in values["verdicts"] if one["status"] == "FAIL")
    failed["status"] = "PASS"
    write(json.dumps(values), "utf-8")
    assert is_refused(report)


@pytest.mark.parametrize("changed", ["results.json", "index.html", "both"])
def test_a_difference_says_what_the_place_was_compared_with(wrong, tmp_path, changed, once):
    """A file is compared with the results document of its folder, which may be what was changed."""
    report, names = copied(wrong, tmp_path), ("results.json", "index.html")
    for name in names if changed == "both" else (changed,):
        text = (report / name).read_text("utf-8")
        assert "faulty on 1" in text
        (report / name).write_text(text.replace("faulty on 1", "faulty on 0"), "utf-8")
    differences = prove_again(report).differences
    of_results = [one for one in differences if one.where == "summary.sentence"]
    of_page = [one for one in differences if one.where.startswith("index.html")]
    assert [len(of_results), len(of_page)] == [changed != "index.html", 1]
    assert all("made again" in str(one) for one in of_results)
    assert all("results.json gives" in str(one) and "made again" not in str(one) for one in of_page)
    code, said, _ = command("explain", "--again", str(report), "--jobs", "1")
    last = said.strip().splitlines()[-1]
    assert (code, "the kept runs" in last) == (4, changed != "index.html")


def next_above(ratio: float) -> float:
    """The next larger number of two digits."""
    return neighbours(float(f"{ratio:.1e}"))[1]


@pytest.mark.parametrize("moved", [False, True])
def test_a_place_may_be_another_where_ratios_agree(wrong, moved):
    made = made_once(wrong)
    values = json.loads(dumps(made))
    one = next(one for one in values["verdicts"] if one["ratio"])
    one["bound"], one["measured"] = 3 * one["bound"], 3 * one["measured"]  # Those of another place.
    if not moved:
        one["ratio"] *= 1 + 2.0**-18
    stated = loads(json.dumps(values))
    assert any(again.compared(stated, made, elsewhere=False))
    assert any(again.compared(stated, made, elsewhere=True)) is not moved


def test_numbers_that_agree_to_a_unit_of_two_digits_are_near():
    generator = np.random.Generator(np.random.PCG64(45))
    for value in (10.0 ** generator.uniform(-12, 3, 200)).tolist():
        assert is_near(value, value * 1.004)
        assert not is_near(value, value * 1.3)
        assert not is_near(value, -value)
    assert is_near(0.0, 0.0)
    assert not is_near(0.0, 1e-30)
    assert not is_near(float("inf"), 1.0)
