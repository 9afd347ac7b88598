"""Refusals before any work, the folder of a partial run's report, and lines of progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from daily import crossed

from sstep_verify.cli import main, work
from sstep_verify.cli.commands import oracle, run
from sstep_verify.errors import InputError
from sstep_verify.ranks import environment
from sstep_verify.ranks.environment import PLACES


def refusal(command, *words: str) -> str:
    """The message of an input error."""
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(command, words, catch_exceptions=False)
    return str(caught.value)


def test_a_campaign_is_not_run_once_by_every_rank(monkeypatch, tmp_path):
    monkeypatch.setenv(PLACES[0][0], "3")
    said = refusal(run.command, "--out", str(tmp_path / "report"))
    assert "3 processes" in said
    assert said.endswith(f"unset {PLACES[0][0]}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["run"], ["explain", "no such check"], ["solve"], ["no such command"], ["oracle", "--task", "none"]],
    ids=lambda words: words[0],
)
def test_of_the_ranks_of_a_job_one_says_why_all_refuse(monkeypatch, capsys, words):
    monkeypatch.setattr(main, "PATIENCE", 0.0)
    monkeypatch.setattr(environment, "rank_0_goes_on", lambda: False)
    monkeypatch.setattr("sys.argv", ["sstep-verify", *words])
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_FD", "7")  # As launchers do.
    said = []
    for rank in "01":
        monkeypatch.setenv("PMI_RANK", rank)
        with pytest.raises(SystemExit) as ended:
            main.main()
        assert ended.value.code == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        said.append(captured.err)
    assert said[0]
    assert said[1] == ""


LAUNCHER = """
import os, subprocess, sys

job = os.environ | {"PMI_SIZE": "2", "PMI_FD": "7"}
waits = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
with subprocess.Popen(waits, env=job | {"PMI_RANK": "0"}, stdout=subprocess.PIPE) as leader:
    leader.stdout.readline()
    if sys.argv[1] == "ends":
        leader.kill()
        leader.wait()
    command = [sys.executable, "-m", "sstep_verify", "solve", "--nosuch"]
    ended = subprocess.run(command, env=job | {"PMI_RANK": "1"})
    leader.kill()
sys.exit(ended.returncode)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="needs /proc")
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_rank_that_refuses_by_itself_says_why(goes_on):
    """Such as one that got other options, while rank 0 waits for it."""
    unset = {name for pair in PLACES for name in pair}
    ended = subprocess.run(
        [sys.executable, "-c", LAUNCHER, "goes on" if goes_on else "ends"],
        env={name: value for name, value in os.environ.items() if name not in unset},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ("--nosuch" in ended.stderr) == goes_on
    assert ("rank 1" in ended.stderr) == goes_on


PARENT = """
import json, os, subprocess, sys
sys.exit(subprocess.run(sys.argv[2:], env=os.environ | json.loads(sys.argv[1])).returncode)
"""


@pytest.mark.parametrize(
    ("words", "pair"), crossed([["explain", "box"], ["solve", "--nosuch"]], PLACES[:2], of=2)
)
def test_a_rank_that_no_launcher_made_says_so(pair, words):
    """One line, and none where a launcher has left more than the pair of variables."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(environment.OF_A_RANK)}
    place = dict(zip(pair, ("2", "1"), strict=True))
    command = [sys.executable, "-m", "sstep_verify", *words]

    def said(**more: str) -> list[str]:
        # This process may have started ranks of its own; below another parent none of them is rank 0.
        return subprocess.run(
            [sys.executable, "-c", PARENT, json.dumps(place | more), *command],
            env=ours, capture_output=True, text=True, check=False,
        ).stderr.splitlines()  # fmt: skip

    (line,) = said()
    assert "rank 1 of 2" in line
    assert f"unset {pair[0]} {pair[1]}" in line
    assert said(PMIX_NAMESPACE="job") == []


def test_the_oracle_refuses_a_folder_that_is_not_there_before_it_loads_anything(tmp_path):
    path = str(tmp_path / "none" / "certificate.json")
    assert "no folder to write in" in refusal(
        oracle.command, "no such data", "--task", "krr", "--out", path
    )


@pytest.mark.parametrize("options", [[], ["--list"]], ids=" ".join)
def test_a_folder_without_a_name_is_not_taken_for_the_usual_one(options, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert refusal(run.command, "--out", "", *options) == "--out: the name is empty; name a folder"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("only", "folder"), [("", "embedded"), ("diabetes", "embedded-part")])
def test_a_part_of_a_campaign_leaves_the_report_of_the_whole_alone(monkeypatch, only, folder):
    class ReachedError(Exception):
        pass

    def stop(out):
        raise ReachedError(out.name)

    monkeypatch.setattr("sstep_verify.report.write.check_destination", stop)
    with pytest.raises(ReachedError, match=f"^{folder}$"):
        CliRunner().invoke(run.command, ["--only", only], catch_exceptions=False)


def test_lines_are_spaced_and_only_said_where_wanted(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(work.time, "monotonic", lambda: now)
    told, silent = work.SpacedLines(True), work.SpacedLines(False)
    for now in (1.0, work.SILENCE + 1, work.SILENCE + 2, 2 * work.SILENCE + 2):
        told.say(f"at {now:g}")
        silent.say("never")
    assert capsys.readouterr().err.split("\n") == ["at 31", "at 62", ""]
