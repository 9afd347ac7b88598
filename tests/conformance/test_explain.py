"""The command ``explain`` as its user meets it, on every check and on what a defective solver left."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import command
from planted_report import CASE, verdicts_of

from sstep_verify.bounds.window.split import CORRECTIONS, KERNEL, REST_SVM, STALE
from sstep_verify.checks.registry import CHECKS
from sstep_verify.cli.topics import TOPICS
from sstep_verify.specification import decided_by

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = {"sstep_verify/bounds/window/svm.py", "sstep_verify/bounds/window/ridge.py"}
NAMED = re.compile(r"[\w/]*(?:bounds|checks|costs|problems|rounding)/[\w/]*(?:\.py)?")


def test_every_check_is_explained():
    code, listed, _ = command("explain")
    assert code == 0
    order = [listed.index(f"{check}\n  ") for check in CHECKS]
    assert order == sorted(order)
    for check, found in CHECKS.items():
        assert f"{check}\n  " in listed
        assert found.claim.endswith(".")
        assert "Check " not in found.claim
        assert all([found.needs, found.planted, found.vacuous])
        code, output, _ = command("explain", check, "--long")
        assert code == 0
        assert output.startswith(f"{check}\n\nClaim\n")
        for title in ("Needs", "Injected defect", "VACUOUS"):
            assert f"\n{title}\n  " in output
        sentences = decided_by(check)
        assert sentences
        assert all(f"\n  {one.number}: {one.text[:40]}" in output for one in sentences)
        for path, text in found.derivations.items():
            assert f"\nBound: {path}\n" in output
            assert len(text) > 100
        assert found.derivations or "\nBound\n  0:" in output


def test_a_requirement_that_a_check_decides_only_somewhere_is_listed_so():
    _, output, _ = command("explain", "message-count")
    _, words = " ".join(output.split()).split(" S-6.2: ")
    assert words.endswith(
        " counts once. (not of communication scheme per-window, which implies no number of words)"
    )
    _, output, _ = command("explain", "message-count", "--json")
    assert "scheme per-window" in json.loads(output)["sentences"]["S-6.2"]


@pytest.mark.parametrize(
    ("check", "bounds"),
    [
        ("window-replay", BOUNDS),
        ("trajectory", BOUNDS),
        ("sstep-equals-classical", BOUNDS),
        ("metamorphic-exact", set()),
    ],
)
def test_a_check_names_its_bounds(check, bounds):
    assert set(CHECKS[check].derivations) >= bounds
    assert bounds or not CHECKS[check].derivations


def test_every_path_that_a_check_names_begins_at_the_root_and_is_there():
    said = [found.text for found in CHECKS.values()]
    for path in ROOT.glob("sstep_verify/checks/**/*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        documented = [node.value for node in nodes if isinstance(node, ast.Expr)]
        words = {node for node in nodes if isinstance(node, ast.Constant)}.difference(documented)
        said += [word.value for word in words if isinstance(word.value, str) and " " in word.value]
    named = {name for words in said for name in NAMED.findall(words)}
    assert len(named) > 10
    assert [name for name in named if not name.startswith("sstep_verify/")] == []
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_explain_fills_in_the_numbers_of_an_artefact(report, monkeypatch):
    monkeypatch.chdir(report)
    for verdict in verdicts_of(report, "FAIL"):
        path = verdict["replay"].split()[-1]
        code, output, errors = command("explain", verdict["check"], path, "--long")
        assert (code, errors) == (0, "")
        _, _, numbers = output.partition("In this artefact: FAIL")
        for words in (
            f"measured {verdict['measured']:.6g}, bound {verdict['bound']:.6g}",
            f"ratio = measured / bound = {verdict['ratio']:.6g}",
            f"problem: {verdict['problem']}, m = 30, n = 3",
            "precision: float64, u = 1.11e-16",
            *(
                f"{term['name']}: {'tested' if term['seen'] else 'not tested'}"
                + ", detection limit" * (term["detection_limit"] is not None)
                for term in verdict["terms"]
            ),
            f"offline: sstep-verify explain --again {path}",
            f"with the solver: sstep-verify run small.toml --only {CASE}",
        ):
            assert words in numbers
        assert ("begin 0, end" in numbers) == (verdict["check"] == "window-replay")


def test_several_artefacts_have_a_line_each(report):
    folders = [str(report / one["replay"].split()[-1]) for one in verdicts_of(report, "FAIL")]
    assert len(folders) > 1
    code, out, errors = command("explain", *folders)
    assert (code, errors) == (0, "")
    *lines, last = out.splitlines()
    for verdict, line in zip(verdicts_of(report, "FAIL"), lines, strict=True):
        first = verdict["reason"].splitlines()[0]
        assert line == f"FAIL: {verdict['check']} on {CASE}, s = {verdict['s']}: {first}"
    assert last == f"more: sstep-verify explain {shlex.quote(folders[0])}"


def test_where_one_of_several_artefacts_is_none_no_line_is_printed(report):
    folder = next(str(report / one["replay"].split()[-1]) for one in verdicts_of(report, "FAIL"))
    code, out, errors = command("explain", folder, str(report / "figures"))
    assert (code, out) == (2, "")
    assert errors.startswith("error: ")


def test_of_several_artefacts_none_is_made_again_or_explained_in_full(report):
    folders = sorted(map(str, (report / "artefacts").iterdir()))
    for found in (folders[:2], folders[:3], ["box", *folders[:2]]):
        for again in (["--again"], ["--long"], ["--json"]):
            code, out, errors = command("explain", *again, *found)
            assert (code, out) == (2, "")
            named = [one for one in found if one != "box"]
            told = (
                f"{len(named)} artefacts are named, but one is explained at a time: sstep-verify explain "
            )
            assert errors == f"error: {told}{' '.join([*again, named[0]])}\n"


def test_an_artefact_alone_is_explained_in_plain_words(report, monkeypatch):
    monkeypatch.chdir(report.parent)
    verdict = next(one for one in verdicts_of(report, "FAIL") if one["check"] == "window-replay")
    path = f"{report.name}/{verdict['replay'].split()[-1]}"
    code, output, errors = command("explain", path)
    assert (code, errors) == (0, "")
    assert output.startswith(f"FAIL: window-replay on {CASE}, s = {verdict['s']}\n")
    assert " ".join(verdict["reason"].split()) in " ".join(output.split())
    before, _, words = output.partition("\nWords\n")
    for word in ("window", "overlap", "omega", "clip", "bound", "ratio"):
        assert (f"    {word}: " in words) == bool(re.search(rf"\b{word}s?\b", before))
    assert "    window: " in words
    assert ("    detection_limit: " in words) == ("relative errors from" in before)
    assert "Bound: bounds/" not in output
    assert len(output.splitlines()) < 60
    assert command(*shlex.split(_after(output, "All numbers and derivations: ")))[0] == 0
    assert command(*shlex.split(_after(output, "offline: ")))[0] == 1


def _after(output: str, words: str) -> str:
    """The command that a line gives, without the program's name."""
    return output.partition(words)[2].partition("\n")[0].removeprefix("sstep-verify ")


def test_json_is_one_object_that_says_what_the_lines_say(report, monkeypatch):
    monkeypatch.chdir(report)
    verdict = next(one for one in verdicts_of(report, "FAIL") if one["check"] == "trajectory")
    path = verdict["replay"].split()[-1]
    code, output, _ = command("explain", "--again", path, "--json")
    replayed = json.loads(output)
    assert (code, replayed["exit_code"]) == (1, 1)
    assert replayed["verdicts"][0]["ratio"] == replayed["stored"][0]["ratio"] == verdict["ratio"]
    assert replayed["disagreements"] == replayed["differences"] == []
    code, output, _ = command("explain", path, "--json")
    explained = json.loads(output)
    assert code == 0
    assert explained["verdicts"] == replayed["stored"]
    assert explained["again"] == f"sstep-verify explain --again {path}"
    assert explained["explanation"]["check"] == "trajectory"
    _, output, _ = command("explain", "--json")
    assert set(json.loads(output)) == set(CHECKS)
    _, output, _ = command("explain", "box", "--json")
    assert json.loads(output)["check"] == "box"


def test_explain_shares_out_the_bound_of_the_worst_window(report, monkeypatch):
    monkeypatch.chdir(report)
    failed = [verdict for verdict in verdicts_of(report, "FAIL") if verdict["check"] == "window-replay"]
    assert len(failed) == 2
    for verdict in failed:
        path = verdict["replay"].split()[-1]
        _, output, _ = command("explain", path, "--long")
        table = output.partition("\nWhere the bound comes from\n")[2].partition("\n\n")[0]
        # The decisive comparison may be the one from the panel; the table is of the one from the data.
        compared = max((window["from_data"] for window in verdict["evidence"]["windows"]), key=_ratio)
        for name in ("measured", "bound", "ratio"):
            assert f"{name} {compared[name]:.6g}" in table
        rows = [line.rsplit(maxsplit=2) for line in table.splitlines() if line.endswith("%")]
        contributions = [float(value) for _, value, _ in rows]
        assert contributions == sorted(contributions, reverse=True)
        assert {name.strip() for name, *_ in rows} == {KERNEL, STALE, CORRECTIONS, REST_SVM}
        # Every share is printed in tenths of a per cent, to half a tenth.
        tenths = [int(share.rstrip("%").replace(".", "")) for *_, share in rows]
        assert 2 * abs(sum(tenths) - 1000) <= len(rows)
        for term in compared["detection_limit"]:
            assert f"\n    {term} " in table


def _ratio(comparison: dict) -> float:
    return comparison["ratio"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["explain", "window_replay"],
            "'window_replay' is no check, topic, requirement or artefact (did you mean 'window-replay'?)",
        ),
        (["explain", "exit-code"], "topic, requirement or artefact (did you mean 'exit-codes'?)"),
        (["explain", "S-9.99"], "no check, topic, requirement or artefact; checks: "),
        (
            ["explain", "trajectory", "artefacts/{}-window-replay-s4"],
            "use: sstep-verify explain artefacts/",
        ),
        (["explain", "--again"], "name a folder that a report holds under artefacts/"),
        (["explain", "--again", "."], "`check --keep-runs` and `run --keep-runs` keep them"),
    ],
)
def test_a_mistake_ends_with_code_2_and_the_way_out(report, monkeypatch, words, message):
    monkeypatch.chdir(report)
    words = [word.format("points.svm-rbf-sigma=0.5-svm-l2-C=1") for word in words]
    code, _, errors = command(*words)
    assert code == 2
    assert message in errors
    if "is no check" in message:
        assert all(name in errors for name in (*CHECKS, *TOPICS))


def test_help_imports_nothing_heavy():
    for words in (["--help"], ["explain", "--help"], ["solve", "--help"], ["run", "--help"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "sstep_verify", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Usage" in done.stdout
        imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
        assert not imported & {"numpy", "scipy", "numba", "flint", "sklearn"}
