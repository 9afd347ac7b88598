"""Mistyped names are answered with the most similar one; the shell completes names."""

from __future__ import annotations

import re
import shlex

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from sstep_verify import __version__
from sstep_verify.campaign.verdicts.solvers import SolverTable, make_solvers
from sstep_verify.cli.main import COMMANDS, cli
from sstep_verify.cli.options import kernel_of
from sstep_verify.errors import InputError, closest


def test_an_unknown_command_is_answered_with_the_most_similar_one():
    made = CliRunner().invoke(cli, ["slove"])
    assert made.exit_code == 2
    known = ", ".join(sorted(COMMANDS))
    assert f"no such command 'slove' (did you mean 'solve'?); known: {known}" in made.output


@pytest.mark.parametrize("campaign", ["embedded", "sensitivity"])
def test_the_name_of_a_campaign_is_answered_with_run(campaign):
    made = CliRunner().invoke(cli, [campaign])
    assert made.exit_code == 2
    assert f"no such command '{campaign}' (did you mean 'run {campaign}'?); known: " in made.output


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("predict", "perf predict"),
        ("latenci", "perf latency"),
        ("replay", "explain --again"),
        ("vector", "python -m sstep_verify.vectors"),
    ],
)
def test_a_command_that_stands_elsewhere_is_answered_with_where(word, meant):
    made = CliRunner().invoke(cli, [word])
    assert made.exit_code == 2
    assert f"no such command '{word}' (did you mean '{meant}'?); known: " in made.output


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("run", "embeded"), "embedded"),
        (("explain", "windowreplay"), "window-replay"),
        (("solve", "diabetis", "--task", "krr", "--out", "unused.npz"), "diabetes"),
        (("oracle", "breast-cancer", "--task", "krr"), "breast_cancer"),
    ],
)
def test_so_is_an_unknown_campaign_check_or_data_set(words, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"did you mean '{meant}'"):
        CliRunner().invoke(cli, words, catch_exceptions=False)


def test_a_name_like_no_other_is_answered_without_a_guess():
    assert closest("zzz", COMMANDS) == ""


@pytest.mark.parametrize(
    ("begun", "meant"),
    [("poly", "polynomial"), ("lin", "linear"), ("p", ""), ("po", ""), ("xpoly", ""), ("", "")],
)
def test_the_beginning_of_one_name_stands_for_it(begun, meant):
    told = closest(begun, ["linear", "polynomial", "rbf"])
    assert told == (f" (did you mean {meant!r}?)" if meant else "")
    assert closest("poly", ["polynomial", "polygon-of-many-corners"]) == ""


@pytest.mark.parametrize(
    ("before", "begun", "completed"),
    [
        ((), "orac", {"oracle"}),
        (("run",), "embedded", {"embedded", "embedded-reference"}),
        (("explain",), "window-", {"window-replay"}),
        (("solve",), "colon", {"colon-cancer"}),
        (("oracle",), "diabetes_s", {"diabetes_scale"}),
    ],
)
def test_names_are_completed(before, begun, completed):
    found = BashComplete(cli, {}, "sstep-verify", "_SSTEP_VERIFY_COMPLETE").get_completions(
        list(before), begun
    )
    assert {item.value for item in found} == completed


def test_files_are_completed_where_no_name_begins_so():
    found = BashComplete(cli, {}, "sstep-verify", "_SSTEP_VERIFY_COMPLETE").get_completions(["run"], "./my")
    assert [(item.value, item.type) for item in found] == [("./my", "file")]


def test_help_and_version():
    assert CliRunner().invoke(cli, ["--version"]).output == f"sstep-verify, version {__version__}\n"
    text = CliRunner().invoke(cli, ["--help"]).output
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize("name", ["prog", "./prog", "my prog"])
def test_a_program_that_is_named_as_a_solver_is_given_to_exec(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / name).chmod(0o755)
    with pytest.raises(
        InputError, match="is a program; check the command that starts it, --exec"
    ) as raised:
        make_solvers(SolverTable(solver=name))
    (command,) = re.findall(r"--exec (.*), or describe", str(raised.value))
    (words,) = shlex.split(command)
    assert shlex.split(words) == [f"./{name.removeprefix('./')}", "{dir}"]


@pytest.mark.parametrize("name", ["RBF", "Linear", "POLYNOMIAL"])
def test_a_name_in_other_capitals_is_meant(name):
    assert closest(name, ["linear", "polynomial", "rbf"]) == f" (did you mean {name.lower()!r}?)"


def test_a_decimal_comma_is_reported_with_the_number_that_is_meant():
    with pytest.raises(InputError, match=r"write sigma=0\.5 with a point"):
        kernel_of("rbf,sigma=0,5")
