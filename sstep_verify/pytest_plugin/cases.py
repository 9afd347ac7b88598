"""Tests of a solver, one for each problem of a profile and check: what ``pytest --sstep-solver`` adds.

They are judged as ``sstep-verify check`` judges, and stand behind a project's own tests as
``sstep::CASE::CHECK``. The ratios are properties of the test (``<property>`` in JUnit XML); a failure says
the reasons of its verdicts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sstep_verify.errors import FailedError, InputError, SstepVerifyError, closest
from sstep_verify.pytest_plugin import SOLVER_OPTIONS

if TYPE_CHECKING:
    from sstep_verify.campaign.model import Definition

NAME = "sstep"

CHOSEN = pytest.StashKey[list[str]]()
"""Names of the tests, and problems, whose ids are among the arguments."""


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is judged."""
    given = " ".join(
        f"{option} {shlex.quote(str(value))}"
        for option, *_ in SOLVER_OPTIONS
        if (value := config.getoption(option))
    )
    return f"sstep-verify: {given}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Take the ids of these tests from the arguments, where pytest would look for files of such names."""
    given, own = session.config.args, f"{NAME}::"
    session.config.stash[CHOSEN] = [word.removeprefix(own) for word in given if word.startswith(own)]
    session.config.args = [word for word in given if not word.startswith(own)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the tests; first of all, so that ``-k`` chooses among them too.

    Where ids of them, or of problems, are among the arguments, only these. UsageError if there is no such.
    """
    found: dict[str, list[Problem]] = {}
    for one in Cases.from_parent(session, name=NAME, nodeid=NAME).collect():
        for name in (one.name, one.case):
            found.setdefault(name, []).append(one)
    chosen = session.config.stash[CHOSEN] or [*found]
    if unknown := [name for name in chosen if name not in found]:
        told = closest(unknown[0], found)
        raise pytest.UsageError(
            f"sstep-verify: no problem or test {unknown[0]!r}{told}; without ids all are tests"
        )
    items.extend(dict.fromkeys(one for name in chosen for one in found[name]))


class Cases(pytest.Collector):
    """The problems of the profile that is named."""

    def collect(self) -> Iterator[Problem]:
        """A test for each problem and check.

        UsageError if the solver, the profile or the list of expected failures cannot be used.
        """
        from sstep_verify.single_checks import checks_by_case

        try:
            definition = _definition(self.config)
            for case, checks in checks_by_case(definition).items():
                for check in checks:
                    given = {
                        "definition": definition,
                        "case": case,
                        "check": check,
                        "first": check == checks[0],
                    }
                    yield Problem.from_parent(self, name=f"{case}::{check}", **given)
        except SstepVerifyError as error:
            raise pytest.UsageError(f"sstep-verify: {error}") from error


class Problem(pytest.Item):
    """One check of one problem (`case`) of a profile with the solver, which is `definition`."""

    def __init__(self, *, definition: Definition, case: str, check: str, first: bool, **given: Any):
        super().__init__(**given)
        self.case, self._check, self._first, self._definition = case, check, first, definition

    def runtest(self) -> None:
        """Judge the solver on it; FailedError if it fails, or meets an expected failure no more."""
        from sstep_verify.single_checks import judged_by, once, shown
        from sstep_verify.verifying import reported

        expected = tuple(failure for failure in self._definition.expected if failure.id == self.case)
        definition = replace(self._definition, expected=())
        report = once((NAME, self.case), self._definition, lambda: reported(definition, self.case))
        self.user_properties.append(("summary", report.results.summary.sentence))
        for verdict in (one for one in report.results.verdicts if one["check"] == self._check):
            ratio = "infinite" if verdict["ratio"] is None else verdict["ratio"]
            self.user_properties.append((f"ratio.{verdict['check']}.s={verdict['s']}", ratio))
            self.user_properties.append((f"status.{verdict['check']}.s={verdict['s']}", verdict["status"]))
        shown(judged_by(report, self._check, expected, self._first))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The reasons alone; of any other error all there is."""
        if isinstance(excinfo.value, (FailedError, InputError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where it stands, for headings: nowhere in a file."""
        return self.path, None, f"problem: {self.name}"  # pytest would cut the end of the id at its dots.


def _definition(config: pytest.Config) -> Definition:
    """The profile with the solver, and the failures that are expected."""
    from sstep_verify.adapters.program import program_from
    from sstep_verify.campaign.profile import USUAL, Selection, profile_of
    from sstep_verify.campaign.summary import read_expected
    from sstep_verify.verifying import cases_of

    line, solver = config.getoption("--sstep-exec"), config.getoption("--sstep-solver")
    if line:
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise InputError(f"--sstep-exec {line!r}: {error}") from error
        solver = program_from(words)
    profile = config.getoption("--sstep-profile") or "ci"
    given = [*(["--exec", line] if line else [str(solver)]), "--profile", profile]
    tasks, kernels = (_names(config, option) for option in ("--sstep-task", "--sstep-kernel"))
    given += [word for name in tasks for word in ("--task", name)]
    given += [word for name in kernels for word in ("--kernel", name)]
    chosen = Selection(tasks=tasks, kernels=kernels, seed=USUAL)
    definition = profile_of(profile, solver, chosen, shlex.join(["sstep-verify", "check", *given]))
    listed = config.getoption("--sstep-xfails")
    known = read_expected(listed, cases_of(definition)) if listed else ()
    return replace(definition, expected=known)


def _names(config: pytest.Config, option: str) -> tuple[str, ...]:
    """The names that an option lists; none if it is not given."""
    return tuple(filter(None, (name.strip() for name in (config.getoption(option) or "").split(","))))
