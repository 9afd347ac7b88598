"""The results document: validation, strict JSON, round trip; and the documents other tests use."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.declaration import ASSUMED
from sstep_verify.errors import InputError
from sstep_verify.report.case import DRIFT, GAP, Case, Line, Run, Series
from sstep_verify.report.results import SCHEMA, Campaign, Results, Summary, dumps, load, loads, tally
from sstep_verify.report.write import write_report
from sstep_verify.verdict import Sensitivity, Status, Verdict, Why

ALL = (Status.PASS, Status.FAIL, Status.VACUOUS, Status.INCONCLUSIVE)
NASTY = "<script>alert('x')</script> & \"q\" $x_1$ \x07 _y"


def verdict(case: str, status: Status = Status.PASS, s: int = 2, **changes) -> Verdict:
    seen = status is not Status.VACUOUS
    term = Sensitivity(
        "overlap",
        Status.PASS if seen else Status.VACUOUS,
        3e-13 if seen else math.inf,
        planned=12,
        decided=12,
        seen=12 if seen else 0,
        why=None if seen else Why.NO_EFFECT,
    )
    values = {
        "check": "window-replay",
        "problem": f"problem of {case}",
        "block": 1,
        "ratio": 1.7 if status is Status.FAIL else 0.14,
        "measured": 1.4e-16,
        "bound": 1e-15,
        "units": "max norm of a",
        "planned": 12,
        "executed": 12,
        "terms": (term,),
        "replay": f"sstep-verify run --only {case} --s {s}",
    }
    return Verdict(case=case, status=status, s=s, **{**values, **changes})


def case(identity: str, status: Status = Status.PASS, **changes) -> Case:
    values = {
        "problem": f"problem of {identity}",
        "dataset": "duke",
        "kernel": "linear",
        "loss": "svm-l1 C=1",
        "task": "svm-l1",
        "samples": 38,
        "features": 7129,
        "block": 1,
        "s": (1, 2),
        "parameters": {"C": 1.0},
        "facts": {"reference optimum": {"value": 0.5, "digits": 30, "how": "active set in balls"}},
        "runs": (Run(2, 100, "tolerance reached", 0.5, 9e-9, GAP, "production"),),
        "series": (
            Series(GAP, 1, (0, 1, 10, 100), (1.0, 0.1, 1e-3, 9e-9)),
            Series(GAP, 2, (0, 2, 10, 100), (1.0, 0.05, 1e-3, 9e-9)),
            Series(DRIFT, 1, (0, 1, 100), (0.0, 1e-17, 1e-16)),
        ),
        "lines": (Line("target", 1e-8), Line("attainable gap", 1e-12)),
    }
    return Case(id=identity, status=status, **{**values, **changes})


def document(cases, verdicts, exit_code: int = 0, **changes) -> Results:
    summary = Summary(
        "correct wherever judged: s <= 2 on 1 of 1 problem each", exit_code, **tally(verdicts), seconds=3.0
    )
    campaign = Campaign("unit", "Unit", "Synthetic.", ("C is not stated",), {"tolerated_vacuous": 1})
    values = {"provenance": {"python": "CPython", "seeds": {"stream": 1}}, **changes}
    return Results(campaign, summary, cases=tuple(cases), verdicts=tuple(verdicts), **values)


def every_status() -> Results:
    return document(
        [case(status.value.lower(), status) for status in ALL],
        [verdict(status.value.lower(), status) for status in ALL],
        exit_code=1,
    )


def test_equals_what_is_read_back():
    made = every_status()
    text = dumps(made)
    assert loads(text) == made
    assert dumps(loads(text)) == text


def test_file_is_strict_json_with_sorted_keys():
    def pairs(items):
        names = [name for name, _ in items]
        assert names == sorted(names)
        return dict(items)

    def refuse(name):
        raise AssertionError(f"{name} in strict JSON")

    series = Series(GAP, 1, (0, 1, 2), (math.nan, math.inf, np.float64(1.5)))
    made = document([case("a", series=[series])], [verdict("a", ratio=math.nan)])
    read = json.loads(dumps(made), object_pairs_hook=pairs, parse_constant=refuse)
    assert read["schema"] == SCHEMA
    assert read["cases"][0]["series"][0]["y"] == [None, None, 1.5]
    assert read["verdicts"][0]["ratio"] is None


def test_every_document_with_verdicts_says_once_what_is_assumed(tmp_path):
    made = document([case("a")], [verdict("a")])
    write_report(made, tmp_path / "out")
    assert json.loads(dumps(made))["assumed"] == ASSUMED
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert page.lower().count(ASSUMED.lower()) == 1


def test_text_that_looks_like_an_array_of_numbers_is_kept():
    text = "[\n 1,\n  2]"
    made = document([case("a", reason=text)], [])
    assert loads(dumps(made)).cases[0].reason == text


def test_numpy_values_become_plain():
    made = case("a", facts={"entry": np.float32(0.5), "shape": np.arange(2), "count": np.int64(3)})
    assert made.facts == {"entry": 0.5, "shape": [0, 1], "count": 3}


@pytest.mark.parametrize("version", [0, 1, 2, 3, "4", None, True])
def test_another_schema_version_is_rejected(version):
    with pytest.raises(InputError, match=r"schema version .* reads schema 4"):
        loads(json.dumps({**every_status().as_dict(), "schema": version}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("schema"), "no field 'schema'"),
        (lambda d: d.pop("summary"), "document: missing field `summary`"),
        (lambda d: d.update(extra=1), "document: unknown field `extra`"),
        (lambda d: d["cases"][0].pop("problem"), r"document: cases\[0\]: missing field `problem`"),
        (
            lambda d: d["cases"][0].update(samples="38"),
            r"cases\[0\].samples: '38' is rejected: expected `int`, got `str`",
        ),
        (
            lambda d: d["cases"][0].update(samples=True),
            r"samples: True is rejected: expected `int`, got `bool`",
        ),
        (lambda d: d["cases"][0].update(status="GREEN"), "status 'GREEN' is unknown; known: PASS"),
        (lambda d: d["cases"][0]["series"][0]["y"].append(1.0), "4 iterations but 5 values"),
        (lambda d: d["cases"][0]["series"][0]["x"].reverse(), "iterations must ascend"),
        (lambda d: d["verdicts"][0].update(news=1), r"verdicts\[0\]: unknown field `news`"),
        (lambda d: d["verdicts"][0].update(s=2.5), r"verdicts\[0\]\.s: 2\.5 is rejected: expected `int`"),
        (lambda d: d["summary"].update(seconds=10**400), r"summary\.seconds: 1000+ is rejected"),
        (lambda d: d["cases"].append(d["cases"][0]), "two cases have the id 'pass'"),
        (lambda d: d["verdicts"][0].update(case="none"), "names the case 'none'"),
        (lambda d: d["verdicts"][0].pop("bound"), r"verdicts\[0\]: missing field `bound`"),
        (
            lambda d: d["verdicts"][0]["terms"][0].pop("detection_limit"),
            r"verdicts\[0\]\.terms\[0\]: missing field `detection_limit`",
        ),
    ],
)
def test_damaged_document_is_rejected_by_name(damage, message):
    values = json.loads(dumps(every_status()))
    damage(values)
    with pytest.raises(InputError, match=message):
        loads(json.dumps(values), "document")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"schema": NaN}',
        '{"schema": 1e400}',
        "[]",
        "3",
        "[" * 10**6,
        '{"schema":' * 10**5,
        "\ud800",
    ],
    ids=range(9),
)
def test_text_that_is_no_document_is_rejected(text):
    with pytest.raises(InputError, match=r"^given\.json"):
        loads(text, "given.json")


def test_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read"):
        load(tmp_path / "nothing.json")


def test_values_without_a_plain_form_are_rejected_by_place():
    with pytest.raises(InputError, match=r"case a: facts: a object"):
        case("a", facts={"solver": object()})


def test_tally_counts_every_status_and_term():
    made = every_status()
    counted = tally(made.verdicts)
    assert counted["counts"] == {"window-replay": dict.fromkeys((status.value for status in ALL), 1)}
    assert counted["coverage"]["window-replay"] == {
        "planned": 48,
        "executed": 48,
        "vacuous": 1,
        "terms": {"overlap": {"planned": 48, "decided": 48, "seen": 36, "detection_limit": 3e-13}},
    }


def test_a_verdict_may_be_given_as_record_or_as_dict():
    one = verdict("a")
    given = document([case("a")], [one])
    assert given == replace(given, verdicts=(one.as_dict(),))


def test_only_a_regular_file_of_a_stated_size_is_read(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(InputError, match=f"{tmp_path / name}: .*(is not a regular file|directory)"):
            load(tmp_path / name)
    path = tmp_path / "results.json"
    path.write_text(dumps(every_status()), "utf-8")
    monkeypatch.setattr("sstep_verify.report.results.MOST_BYTES", 100)
    with pytest.raises(InputError, match="of a results document at most 100 bytes are read"):
        load(path)
