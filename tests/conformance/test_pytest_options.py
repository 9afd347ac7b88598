"""``pytest --sstep-solver``: a test for each problem and check, in a project that has tests of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sstep_verify import pytest_plugin
from sstep_verify.campaign.summary import ExpectedFailure
from sstep_verify.errors import FailedError, InputError
from sstep_verify.pytest_plugin import cases as pytest_cases

PROGRAM = Path(__file__).with_name("plain_program.py")
ROOT = Path(__file__).parents[2]
CASE = "dense-15x9/rbf,sigma=0.1/svm-l1/C=2/plain_program-csr"
PLUGINS = [
    "-p",
    "sstep_verify.pytest_plugin",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:randomly",
    "--assert=plain",  # Nothing is compiled again.
]
SMOKE = ["--sstep-profile", "smoke"]


@cache
def is_installed() -> bool:
    """Whether a Python that is started finds the package, and its plugin, among the distributions."""
    asked = "import importlib.metadata as m; m.distribution('sstep-verify')"
    return not subprocess.run([sys.executable, "-c", asked], capture_output=True, check=False).returncode


def run_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess:
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")
    path = os.pathsep.join(
        [str(folder), str(ROOT), str(ROOT / "reference"), os.environ.get("PYTHONPATH", "")]
    )
    plugins = PLUGINS[2:] if is_installed() else PLUGINS
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *words],
        cwd=folder, capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def program(mistake: str) -> list[str]:
    return [
        "--sstep-exec",
        shlex.join([sys.executable, "-I", "-S", str(PROGRAM), "{dir}", mistake]),
        *SMOKE,
    ]


def properties(path: Path) -> dict[str, str]:
    return {one.get("name"): one.get("value") for one in ElementTree.parse(path).iter("property")}


@pytest.mark.nightly
def test_a_wrong_solver_fails_with_its_reasons_behind_the_projects_own_tests(tmp_path):
    done = run_pytest(
        tmp_path, *program("last"), "-k", "own or (svm-l1 and rbf)", "--junitxml", "j.xml", "-v"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "sstep-verify: --sstep-exec" in done.stdout
    assert f"sstep::{CASE}::step-replay FAILED" in done.stdout
    assert f"sstep::{CASE}::contract PASSED" in done.stdout
    assert f"sstep::{CASE}::kernel-entries SKIPPED" in done.stdout
    assert f"FAIL {CASE}, step-replay, s = 7:" in done.stdout
    assert "Traceback" not in done.stdout
    found = properties(tmp_path / "j.xml")
    assert found["status.step-replay.s=7"] == "FAIL"
    assert found["ratio.step-replay.s=7"] == "infinite" or float(found["ratio.step-replay.s=7"]) > 1


def item(mistake: str, *expected: ExpectedFailure, check: str = "step-replay") -> pytest_cases.Problem:
    """The test of a problem and check, outside a session."""
    command = shlex.join([sys.executable, "-I", "-S", str(PROGRAM), "{dir}", mistake])
    definition = pytest_cases._definition(Given(sstep_exec=command, sstep_profile="smoke"))
    family = next(one for one in definition.families if one.kernel[0].name == "rbf")
    made = object.__new__(pytest_cases.Problem)
    made.name, made.user_properties = f"{CASE}::{check}", []
    made.case, made._check, made._first = CASE, check, check == "contract"
    made._definition = replace(definition, families=(replace(family, s=(7,)),), expected=expected)
    return made


def test_a_right_solver_passes_with_its_ratios():
    test = item("")
    test.runtest()
    assert 0 < dict(test.user_properties)["ratio.step-replay.s=7"] <= 1
    assert "ratio.box.s=7" not in dict(test.user_properties)
    with pytest.raises(pytest.skip.Exception, match="kernel-entries does not apply"):
        item("", check="kernel-entries").runtest()


@pytest.mark.usefixtures("unexplained")
def test_a_failure_that_is_expected_is_an_xfail():
    wrong = item("last")
    with pytest.raises(FailedError, match="step-replay, s = 7"):
        wrong.runtest()
    listed = ExpectedFailure(CASE, "step-replay: FAIL", "issue 7")
    with pytest.raises(pytest.xfail.Exception, match="step-replay: FAIL: issue 7"):
        item("last", listed).runtest()
    item("last", listed, check="contract").runtest()
    with pytest.raises(FailedError, match="expected, but not met: step-replay: FAIL: issue 7"):
        item("", listed).runtest()


@pytest.mark.nightly
def test_what_cannot_be_asked_is_a_usage_error_in_one_line(tmp_path):
    done = run_pytest(tmp_path, "--sstep-exec", "./x {dir}", "--sstep-profile", "smok")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "did you mean 'smoke'" in done.stderr
    assert "Traceback" not in done.stderr


class Given:
    """A configuration with some options."""

    def __init__(self, **options: str):
        self.options = options
        self.pluginmanager = None

    def getoption(self, name: str) -> str | None:
        return self.options.get(name.removeprefix("--").replace("-", "_"))


@pytest.mark.parametrize(
    "options", [{"sstep_profile": "ci"}, {"sstep_solver": "a:b", "sstep_exec": "./x {dir}"}]
)
def test_one_solver_is_named(options):
    with pytest.raises(pytest.UsageError, match="name one solver"):
        pytest_plugin.pytest_configure(Given(**options))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sstep_exec": "./x '{dir}"}, "No closing quotation"),
        ({"sstep_exec": "./x {dir}", "sstep_xfails": "none.toml"}, "none.toml: cannot be read"),
        ({"sstep_solver": "no_such_module:solver"}, "cannot be had"),
        ({"sstep_exec": "./x {dir}", "sstep_task": "krr,svm"}, "task 'svm' is unknown"),
        ({"sstep_exec": "./x {dir}", "sstep_kernel": "poly"}, "kernel 'poly' is unknown"),
        ({"sstep_exec": "./x {s}"}, "names neither {dir} nor {data}"),
    ],
)
def test_what_cannot_be_used_is_an_input_error(options, told):
    with pytest.raises(InputError, match=told):
        pytest_cases._definition(Given(**options))


def test_a_solver_is_judged_on_the_profile_that_is_named():
    given = Given(sstep_exec="./x {dir}", sstep_profile="smoke")
    definition = pytest_cases._definition(given)
    assert definition.command.endswith("--profile smoke --seed 0")
    assert all(family.further for family in definition.families), (
        "the further s of check are judged here too"
    )
    assert "--sstep-profile smoke" in pytest_cases.pytest_report_header(given)


@pytest.mark.parametrize("tasks", ["", "krr", "svm-l1,svm-l2"])
@pytest.mark.parametrize("kernels", ["", "rbf", "linear, polynomial"])
def test_tasks_and_kernels_are_chosen_by_name(tasks, kernels):
    every = {"tasks": "svm-l1,svm-l2,krr", "kernels": "linear,polynomial,rbf"}
    asked = {"sstep_exec": "./x {dir}", "sstep_profile": "smoke"}
    definition = pytest_cases._definition(Given(**asked, sstep_task=tasks, sstep_kernel=kernels))
    found = {
        (task, one.name) for family in definition.families for task in family.task for one in family.kernel
    }
    wanted = {
        (task, kernel.strip())
        for task in (tasks or every["tasks"]).split(",")
        for kernel in (kernels or every["kernels"]).split(",")
    }
    assert found == wanted
    words = shlex.split(definition.command)
    assert words.count("--task") == len(list(filter(None, tasks.split(","))))
    assert words.count("--kernel") == len(list(filter(None, kernels.split(","))))


@pytest.mark.nightly
def test_an_id_that_was_printed_can_be_given_back(tmp_path):
    """Pytest would look for a file of that name."""
    id_ = f"sstep::{CASE}::step-replay"
    done = run_pytest(tmp_path, *program(""), "-v", "test_own.py", id_, id_)
    assert done.returncode == 0, done.stdout + done.stderr
    made = [line for line in done.stdout.splitlines() if " PASSED" in line]
    assert [line.partition(" PASSED")[0] for line in made] == ["test_own.py::test_own", id_]
    assert "2 passed" in done.stdout


@pytest.mark.nightly
def test_an_id_that_there_is_not_is_a_usage_error(tmp_path):
    done = run_pytest(tmp_path, *program(""), f"sstep::{CASE}".replace("C=2", "C=3"))
    assert done.returncode == 4
    assert f"did you mean {CASE!r}" in done.stderr


def test_the_help_of_the_setting_is_its_own(tmp_path):
    """The setting says what the option of the same purpose says, and nothing of another."""
    lines = " ".join(run_pytest(tmp_path, "--help").stdout.split())
    told = lines.partition("sstep_verify_ranks (bool): The same as --sstep-verify-ranks. ")[2]
    assert told.startswith("Under mpiexec let rank 0")
    for option, _, about in pytest_plugin.SOLVER_OPTIONS:
        assert f"{option}=" in lines
        assert about not in told
