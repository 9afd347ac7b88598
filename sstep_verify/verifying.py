"""Verifying a solver from Python: a profile of problems, a report, and a test for each of its checks."""

from __future__ import annotations

import functools
import html
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sstep_verify.errors import FailedError, InputError, integer, listed, of_type
from sstep_verify.floating_point import in_own_state
from sstep_verify.judging import is_whole

if TYPE_CHECKING:
    from sstep_verify.campaign.model import Definition
    from sstep_verify.campaign.profile import Selection
    from sstep_verify.campaign.summary import ExpectedFailure
    from sstep_verify.protocol import Solver
    from sstep_verify.report.results import Results


@dataclass(frozen=True, eq=False)
class Report:
    """Hold the result of `verify`.

    Parameters
    ----------
    results : Results
        The whole document: cases, verdicts, runs.
    folder : Path or None
        Where it was written; None if nowhere.

    Examples
    --------
    >>> from sstep_verify import ReferenceSolver, verify
    >>> report = verify(ReferenceSolver(), "smoke", tasks=["svm-l1"], kernels=["linear"])
    >>> report.passed, report.failures
    (True, [])
    """

    results: Results
    folder: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing failed or stayed open, and enough was compared (exit code 0)."""
        return self.results.summary.exit_code == 0

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The verdicts FAIL and INCONCLUSIVE, as in ``results.json``."""
        verdicts = self.results.verdicts
        return [verdict for verdict in verdicts if verdict["status"] in ("FAIL", "INCONCLUSIVE")]

    def raise_for_failures(self) -> None:
        """Raise an error unless the report is one of success.

        Raises
        ------
        FailedError
            With the summary line, and the reason of every verdict that failed or stayed open.
        """
        if not self.passed:
            words = "{status} {case}, {check}, s = {s}: {reason}"
            reasons = [words.format_map(verdict) for verdict in self.failures]
            notes = [] if reasons else list(self.results.campaign.notes)
            raise FailedError("\n".join([self._headline, *reasons, *notes]))

    @property
    def _headline(self) -> str:
        summary = self.results.summary
        return f"{self.results.campaign.name}: {summary.sentence}"

    def __repr__(self) -> str:
        summary = self.results.summary
        lines = [self._headline, f"judged {summary.steps_judged} of {summary.steps} steps"]
        lines += [
            textwrap.indent(f"{case.status} {case.id}: {case.reason}", "    ")[2:]
            for case in self.results.cases
        ]
        return "\n".join(lines + ([f"report: {self.folder}"] if self.folder else []))

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = "".join(
            f"<tr><td>{case.status}</td><td><code>{html.escape(case.id)}</code></td>"
            f"<td>{html.escape(case.reason)}</td></tr>"
            for case in self.results.cases
        )
        head = "<tr><th>status</th><th>problem</th><th>reason</th></tr>"
        return f"<p><strong>{html.escape(self._headline)}</strong></p><table>{head}{rows}</table>"


@in_own_state
def verify(
    solver: Solver | str,
    profile: str = "ci",
    *,
    s: Sequence[int] = (),
    ranks: Sequence[int] = (1,),
    tasks: Sequence[str] = (),
    kernels: Sequence[str] = (),
    data: str = "",
    only: str = "",
    seed: int | None = None,
    oracle: str = "arb",
    out: str | Path | None = None,
    keep_runs: bool = False,
) -> Report:
    """Verify a solver on a profile of problems, as ``sstep-verify check`` does.

    Parameters
    ----------
    solver : Solver or str
        A solver, ``module:object``, or the path of a program file (docs/adapters.md). A solver object runs
        in this process, without a time limit. ``module:object`` runs in a process of its own, for at most
        600 s a run; ``docs/exchange.md`` says what a crash means. A script must then call this under
        ``if __name__ == "__main__":``, because that process imports it.
    profile : {"smoke", "ci", "nightly", "deep"}
        Problems. ``smoke`` has every task and kernel once, ``ci`` 24 problems of up to 275 samples.
        ``nightly`` has those of campaign embedded, and ``deep`` 100 problems of six shapes.
    s : sequence of int
        Iterations per window; those of the profile if empty.
    ranks : sequence of int
        Numbers of ranks, of a program that takes them (``{np}``), as ``--np``.
    tasks : sequence of {"svm-l1", "svm-l2", "krr"}
        Tasks that the solver is for; all of the profile if empty.
    kernels : sequence of {"linear", "polynomial", "rbf"}
        Kernels that the solver is for; all of the profile if empty.
    data : str
        A data set or LIBSVM file instead of the profile's.
    only : str
        Run only the cases whose id this selects, as ``--only`` does.
    seed : int, optional
        Seed from which one or two further s of each problem are drawn, if `s` is empty. For smoke and ci,
        any seed but 0, the default, also draws sizes and parameters. The replay commands contain it.
    oracle : {"arb", "mpmath"}
        What computes exact values, as of `judge`; mpmath judges problems of at most 200 samples.
    out : str or Path, optional
        Folder of the report, with artefacts of what fails; written nowhere if absent.
    keep_runs : bool
        Whether the runs are kept with the report, so that it can be made again without the solver.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If nothing of the profile is left, or the solver, a name or the folder cannot be used.

    Examples
    --------
    >>> from sstep_verify import ReferenceSolver, verify
    >>> verify(ReferenceSolver(), "smoke", s=[4], tasks=["krr"], kernels=["rbf"]).passed
    True
    """
    from sstep_verify.campaign.profile import SEED, Selection, with_oracle
    from sstep_verify.report.write import check_destination

    of_type("data", data, str | Path | None, "the name of a data set, or the path of a LIBSVM file")
    of_type("only", only, str, "a part of the ids of cases")
    of_type("oracle", oracle, str, "the name of one: 'arb' or 'mpmath'")
    of_type("out", out, str | Path | None, "the path of a folder")
    if seed is not None:
        seed = integer("verify", "seed", seed, 0, 2**63 - 1, "values and further s are drawn from it")
    windows = _whole("s", s)
    drawn = seed if seed is not None or windows else SEED
    names = listed("tasks", tasks), listed("kernels", kernels)
    chosen = Selection(_whole("ranks", ranks), windows, data, *names, drawn)
    definition = with_oracle(_definition(solver, profile, chosen), oracle)
    if out is not None:
        check_destination(out)
    elif keep_runs:
        raise InputError("verify: keep_runs is True, but no report is written; name its folder by out")
    return reported(definition, only, out, keep_runs)


def _whole(name: str, given: Sequence[int]) -> tuple[int, ...]:
    numbers = listed(name, given)
    for number in numbers:
        if not is_whole(number):
            raise InputError(f"{name} = {list(numbers)!r:.80}: {number!r:.40} is no whole number, as 4 is")
    return tuple(map(int, numbers))


@in_own_state
def reported(
    definition: Definition, only: str, out: str | Path | None = None, keep_runs: bool = False
) -> Report:
    """Run a profile, or the cases of it that are selected, on one thread of every library."""
    from threadpoolctl import threadpool_limits

    from sstep_verify.campaign.kept import keep_campaign
    from sstep_verify.campaign.model import Plan
    from sstep_verify.campaign.run import run_campaign
    from sstep_verify.compiled import warn_if_unkept
    from sstep_verify.report.write import ARTEFACTS, RUNS, write_report

    with threadpool_limits(1), tempfile.TemporaryDirectory(prefix="sstep-verify-") as held:
        artefacts, runs = (Path(held) / name for name in (ARTEFACTS, RUNS))
        plan = Plan(definition, None, only, 1, artefacts=artefacts if out else None)
        plan = replace(plan, keep=runs) if keep_runs else plan
        results = run_campaign(plan)
        warn_if_unkept()
        keep = functools.partial(keep_campaign, plan, results) if keep_runs else None
        return Report(results, write_report(results, out, artefacts, keep=keep) if out else None)


@in_own_state
def parametrize_with_checks(
    solvers: Sequence[Solver | str],
    profile: str = "smoke",
    *,
    tasks: Sequence[str] = (),
    kernels: Sequence[str] = (),
    seed: int = 0,
    xfails: str | Path | None = None,
    time_limit: float | None = None,
) -> Any:
    """Decorate a pytest function: one test for each solver, problem of a profile, and check.

    The test takes ``solver`` and ``check``, and calls ``check(solver)``, which raises `FailedError`. If
    the check compares nothing, the test is skipped. A problem is run once, by the first of its tests.

    Parameters
    ----------
    solvers : sequence
        Solvers, as `verify` takes them.
    profile : {"smoke", "ci", "nightly", "deep"}
        Problems, as of `verify`.
    tasks : sequence of {"svm-l1", "svm-l2", "krr"}
        Tasks that the solvers are for; all of the profile if empty.
    kernels : sequence of {"linear", "polynomial", "rbf"}
        Kernels that the solvers are for; all of the profile if empty.
    seed : int
        Seed from which values and further s are drawn, as of `verify`.
    xfails : str or Path, optional
        List of expected failures, as ``--xfails`` takes it (docs/ci.md): their tests are xfails, and fail
        where the failure is met no more.
    time_limit : float, optional
        Seconds that a problem may take, its runs and all its checks; past them its tests fail.

    Examples
    --------
    >>> from sstep_verify import ReferenceSolver, parametrize_with_checks
    >>> @parametrize_with_checks([ReferenceSolver()], tasks=["svm-l1"], kernels=["linear"])
    ... def test_my_solver(solver, check):
    ...     check(solver)
    >>> [mark.name for mark in test_my_solver.pytestmark]
    ['parametrize']
    """
    import pytest

    from sstep_verify.campaign.profile import Selection
    from sstep_verify.campaign.summary import read_expected
    from sstep_verify.single_checks import checks_by_case

    chosen = Selection(tasks=listed("tasks", tasks), kernels=listed("kernels", kernels), seed=seed)
    given = [
        (solver, checks_by_case(_definition(solver, profile, chosen)))
        for solver in listed("solvers", solvers)
    ]
    every = {case for _, cases in given for case in cases}
    known = read_expected(xfails, every) if xfails is not None else ()
    parameters = []
    for solver, cases in given:
        for case, ids in cases.items():
            expected = tuple(one for one in known if one.id == case)
            for id_ in ids:
                check = functools.partial(
                    _verify_one,
                    profile=profile,
                    only=case,
                    seed=seed,
                    check=id_,
                    first=id_ == ids[0],
                    expected=expected,
                    limit=time_limit,
                )
                parameters.append(pytest.param(solver, check, id=f"{case}::{id_}"))
    return pytest.mark.parametrize(("solver", "check"), parameters)


@in_own_state
def cases_of(definition: Definition) -> list[str]:
    """Ids of the cases of a campaign."""
    from sstep_verify.campaign.read import units_of

    return [key for unit in units_of(definition) for key in unit.keys]


def _verify_one(
    solver: Solver | str,
    *,
    profile: str,
    only: str,
    seed: int,
    check: str,
    first: bool,
    expected: tuple[ExpectedFailure, ...],
    limit: float | None,
) -> None:
    from sstep_verify.single_checks import judged_by, limited, once, shown

    __tracebackhide__ = True

    def made() -> Report:
        with limited(limit, only):
            return verify(solver, profile, only=only, seed=seed)

    report = once((id(solver), profile, only, seed, limit), solver, made)
    shown(judged_by(report, check, expected, first))


def _definition(solver: Solver | str, profile: str, chosen: Selection) -> Definition:
    from sstep_verify.campaign.profile import profile_of
    from sstep_verify.protocol import checked_solver

    of_type("profile", profile, str, "the name of one, such as 'ci'")
    given = solver if isinstance(solver, str) else checked_solver(solver, "solver")
    return profile_of(profile, given, chosen, f"verify(solver, {profile!r})")
