"""Statements: what is stated follows from the recorded runs, and nothing of it can be changed unseen."""

from __future__ import annotations

import copy
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")
pytest.importorskip("jinja2", reason="jinja2 is absent: install the extra [report]")

from command import command

from sstep_verify.campaign.artefact import read_artefact, write_artefact
from sstep_verify.campaign.loop.partial import Partial
from sstep_verify.campaign.loop.run import Plan, run_campaign
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.statement import two_digits, verify
from sstep_verify.campaign.statement.files import digest_of
from sstep_verify.campaign.statement.form import digests_of, statement_from
from sstep_verify.campaign.statement.verify import StatementError, prove_statement, read_statement
from sstep_verify.cli.main import main
from sstep_verify.errors import InputError
from sstep_verify.reporting.plain import plain
from sstep_verify.solvers.production import ProductionSolver

MODULE = """
from dataclasses import replace
from sstep_verify.solvers.production import ProductionSolver

class Defective(ProductionSolver):
    '''Its last a is moved by a relative 1e-9.'''
    def run(self, request, observe=None):
        made = super().run(request, observe)
        made.alphas[-1] *= 1 + 1e-9
        return made

right, wrong = ProductionSolver, Defective
"""


def made_in(folder: Path, solver: str, code: int) -> Path:
    (folder / "stated_solvers.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", f"{folder}:{':'.join(sys.path)}")
        patch.syspath_prepend(folder)
        words = [
            "check",
            f"stated_solvers:{solver}",
            "--profile",
            "smoke",
            "--task",
            "svm-l1",
            "--s",
            "7",
        ]
        patch.setattr(sys, "argv", ["sstep-verify", *words, "--statement", "mine.json"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
    return folder / "mine.json"


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> Path:
    return made_in(tmp_path_factory.mktemp("right"), "right", 0)


@pytest.fixture(scope="module")
def proof(right):
    """The statement and what its runs give, made once."""
    stated = read_statement(right)
    return stated, verify.judged_again(stated, right, None, 1, lambda *_: None)


@pytest.fixture
def copied(right, tmp_path) -> Path:
    for name in ("mine.json", "mine.svg"):
        shutil.copy(right.with_name(name), tmp_path / name)
    shutil.copytree(right.with_suffix(".runs"), tmp_path / "mine.runs")
    return tmp_path / "mine.json"


def test_a_right_solvers_statement_says_what_was_shown_and_is_proved(right, proof):
    stated, results = proof
    assert verify.compare(stated, verify.remade(stated, results)) == []
    assert (stated.outcome, stated.largest_s, stated.asked.selection.ranks) == ("passed", 7, (1,))
    said = {one.number: one.outcome for one in stated.sentences}
    assert said["S-1.2"] == "passed", "labels"
    assert said["S-1.4"] == "not applicable", "K-RR was not asked for"
    assert (said["S-1.6"], said["S-1.7"]) == ("not applicable", "passed"), "the kernel is RBF"
    assert "failed" not in said.values()
    assert 0 < stated.worst_ratio.value <= 1
    assert 0 < stated.worst_detectable.value < 1e-9
    assert not list(right.parent.glob("sstep-verify-out/*/artefacts")), "the report holds none of its runs"
    code, out, err = command("statement", str(right))
    assert (code, err) == (0, "")
    assert "not proved yet" in out
    assert "right for s ≤ 7 on 1 problem" in right.with_suffix(".svg").read_text("utf-8")


def test_a_failing_solvers_statement_says_failed_and_is_proved_without_it(tmp_path):
    path = made_in(tmp_path, "wrong", 1)
    (tmp_path / "stated_solvers.py").unlink()
    code, out, err = command("statement", str(path), "--verify", "--jobs", "1")
    assert code == 0, err
    assert "stated_solvers:wrong: failed" in out
    assert "proved anew" in out
    assert "sstep_verify" in sys.modules
    stated = read_statement(path)
    assert stated.largest_s == 0
    assert any(one.outcome == "failed" for one in stated.sentences)
    assert "wrong" in path.with_suffix(".svg").read_text("utf-8")


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


def test_every_changed_field_is_seen_and_named(copied):
    values = json.loads(copied.read_text("utf-8"))
    changes = all_changes(values)
    assert len(changes) > 400
    for where in changes:

        def read(content):
            copied.write_bytes(content)
            read_statement(copied)

        refused(read, changed(values, where), where)


def mended(values: dict) -> dict:
    return {**values, "digests": digests_of(values)}


def test_every_changed_field_that_runs_can_show_is_refused_where_its_digest_was_mended(right, proof):
    stated, results = proof
    values = plain(stated)
    judged_from = ("asked", "solver.declaration", "schema", "specification", "problems", "digests")
    unproved = 0
    for where in all_changes(values):
        if where.startswith(judged_from) and not where.endswith(
            ("status", "right_up_to", "samples", "features")
        ):
            continue
        if where.startswith(verify.UNPROVED):
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
def test_runs_of_another_problem_s_or_solver_prove_nothing(copied, where, value):
    values = json.loads(copied.read_text("utf-8"))
    *path, last = where.split(".")
    place = values
    for key in path:
        place = place[key]
    assert place[last] != value
    place[last] = value
    copied.write_text(json.dumps(mended(values)), "utf-8")
    copied.with_suffix(".svg").unlink()
    with pytest.raises((StatementError, InputError)):
        prove_statement(copied)


def altered_runs(path: Path, change) -> None:
    """Change a recorded run, and mend every digest."""
    (folder,) = path.with_suffix(".runs").iterdir()
    kept = read_artefact(folder)
    change(kept)
    shutil.rmtree(folder)
    assert write_artefact(kept, path.with_suffix(".runs")).name == folder.name
    values = json.loads(path.read_text("utf-8"))
    values["problems"][0]["sha256"] = digest_of(folder)
    path.write_text(json.dumps(mended(values)), "utf-8")


def test_runs_of_a_wrong_solver_do_not_prove_a_right_ones_statement(copied):
    def move(kept):
        kept.trajectories["s=7"].alphas[3] *= 1 + 1e-9

    altered_runs(copied, move)
    read_statement(copied)  # All digests are in order.
    with pytest.raises(StatementError, match=r"outcome: is 'passed', but the recorded runs give 'failed'"):
        prove_statement(copied)


def test_a_run_that_is_left_out_is_missed(copied):
    altered_runs(copied, lambda kept: kept.trajectories.pop("s=7"))
    with pytest.raises(StatementError, match=r"no such run is recorded"):
        prove_statement(copied)


def test_bytes_of_the_recorded_runs_are_compared(copied):
    (folder,) = copied.with_suffix(".runs").iterdir()
    for name in ("artefact.json", "problem.npz", "trajectories.npz", "SHA256SUMS"):
        whole = (folder / name).read_bytes()
        for place in np.linspace(0, len(whole) - 1, 8).astype(int).tolist():
            (folder / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(StatementError, match=rf"mine\.runs/{folder.name[:20]}"):
                read_statement(copied)
        for content in (whole[:-7], b"", whole + b"x"):
            (folder / name).write_bytes(content)
            with pytest.raises(StatementError):
                read_statement(copied)
        (folder / name).unlink()
        with pytest.raises(StatementError):
            read_statement(copied)
        (folder / name).write_bytes(whole)
    read_statement(copied)


def test_links_strangers_and_a_changed_badge_are_refused(copied, tmp_path):
    runs = copied.with_suffix(".runs")
    (folder,) = runs.iterdir()
    (runs / "more").mkdir()
    with pytest.raises(StatementError, match=r"mine\.runs/more: is no part of the statement"):
        read_statement(copied)
    (runs / "more").rmdir()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StatementError, match=r"is missing, or is no folder"):
        read_statement(copied)
    folder.unlink()
    (tmp_path / "elsewhere").rename(folder)
    badge = copied.with_suffix(".svg")
    badge.write_text(badge.read_text("utf-8").replace("s ≤ 7", "s ≤ 64"), "utf-8")
    with pytest.raises(StatementError, match=r"mine\.svg: is not the badge"):
        read_statement(copied)
    badge.unlink()
    read_statement(copied)


@pytest.mark.parametrize("name", ["../mine.runs", "/etc", ".", "a/b-every-check-s0", "x-every-check-s1"])
def test_a_folder_of_runs_elsewhere_is_not_read(copied, name):
    values = json.loads(copied.read_text("utf-8"))
    values["problems"][0]["runs"] = name
    copied.write_text(json.dumps(mended(values)), "utf-8")
    with pytest.raises(StatementError, match=r"problems\[0\]\.runs: is no name"):
        read_statement(copied)


def test_what_is_no_statement_is_refused_in_one_line(tmp_path, monkeypatch, right):
    path = tmp_path / "s.json"
    for content in ("[" * 100_000, "{}", "1e999", '{"schema": true}', "\0", '{"schema": 1}'):
        path.write_text(content)
        code, out, err = command("statement", str(path), "--verify")
        assert (code, out) == (2, ""), err
        assert str(path) in err
    monkeypatch.setattr(verify, "MOST_BYTES", 10)
    assert command("statement", str(right))[0] == 2
    code, _, err = command("check", "a:b", "--statement", "mine.txt", "--profile", "smoke")
    assert code == 2
    assert "NAME.json" in err or "a:b" in err


def test_numbers_differ_in_their_last_digit_on_another_machine_alone(proof):
    stated, results = proof
    values = plain(stated)
    place, one = next((k, one) for k, one in enumerate(values["verdicts"]) if one["ratio"])
    one["ratio"] = two_digits.neighbours(one["ratio"])[1]
    where = rf"verdicts\[{place}\]\.ratio"

    def judged() -> list[str]:
        altered = statement_from(json.dumps(mended(values)).encode(), "altered")
        return verify.compare(altered, verify.remade(altered, results))

    with pytest.raises(StatementError, match=where):
        judged()
    values["environment"]["python"] = "CPython 3.99"
    (told,) = judged()
    assert told.startswith(f"verdicts[{place}].ratio is")
    one["ratio"] = two_digits.neighbours(one["ratio"])[1]
    with pytest.raises(StatementError, match=where):
        judged()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, 0.0), (0.0201, 0.021), (0.02, 0.021), (1.0, 1.0), (1.01e-13, 1.1e-13), (99.1, 100.0)],
)
def test_numbers_are_rounded_up(value, shown):
    assert two_digits.rounded_up(value) == shown >= value
    assert two_digits.rounded_up(float("inf")) is None


def test_an_outcome_that_was_kept_without_its_runs_is_made_again(tmp_path):
    definition = profile_of("smoke", ProductionSolver(), Selection(s=(7,), tasks=("svm-l1",)), "again")
    found = []
    for place, runs in enumerate((False, True, True)):
        partial = Partial(tmp_path / "kept", resume=place > 0)
        run_campaign(Plan(definition, partial=partial, artefacts=partial.artefacts, runs=runs))
        found.append({path: path.stat().st_mtime_ns for path in partial.artefacts.glob("*/artefact.json")})
        partial.close()
    assert [len(one) for one in found] == [0, 1, 1]
    assert found[1] == found[2], "an outcome with its runs is not"
