"""One check of one problem, as a test: a problem is run once, by whichever of its checks comes first."""

from __future__ import annotations

import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sstep_verify.errors import FailedError, positive
from sstep_verify.report.results import TOO_FEW

if TYPE_CHECKING:
    from sstep_verify.campaign.model import Definition
    from sstep_verify.campaign.summary import ExpectedFailure
    from sstep_verify.verifying import Report

MOST_KEPT = 64
"""Reports that are kept for the other checks of their problems."""

WORDS = "{status} {case}, {check}, s = {s}: {reason}"
"""A failure in one line and those behind it."""


def checks_by_case(definition: Definition) -> dict[str, list[str]]:
    """Ids of the checks that judge each case of a campaign, by the id of the case."""
    from sstep_verify.campaign.read import units_of
    from sstep_verify.campaign.verdicts.runs import checks_of_family

    return {
        spec.id: [check.id for check in checks_of_family(spec.family)]
        for unit in units_of(definition)
        for spec in unit.work
        if spec.id in unit.keys
    }


@dataclass(frozen=True)
class Unshown:
    """Why a test shows nothing: its check compared nothing, or its failure is `expected`."""

    reason: str
    expected: bool = False


def judged_by(
    report: Report, check: str, expected: Sequence[ExpectedFailure] = (), first: bool = False
) -> Unshown | None:
    """What one check says of the one problem of a report; None where it passed.

    `expected` are the failures of the problem that are known; of those that name no check, and are not met,
    the `first` check says so.

    Raises
    ------
    FailedError
        If the check failed, stayed open or compared too little, the problem was not judged, or a failure
        that is expected was not met.
    """
    from sstep_verify.campaign.model import DISAGREEMENT, INTERNAL, REFUSED

    __tracebackhide__ = True  # pytest shows the reasons, not the way to them.
    results = report.results
    own = [one for one in results.verdicts if one["check"] == check]
    open_ = [one for one in own if one["status"] in ("FAIL", "INCONCLUSIVE")]
    kinds = {f"{one['check']}: {one['status']}" for one in report.failures}
    refused = results.campaign.errors(REFUSED)
    kinds |= {REFUSED} if refused else set()
    wanted = {one.kind: one.reason for one in expected}
    whole = {REFUSED} if first or refused else set()
    mine = [kind for kind in wanted if kind.startswith(f"{check}: ") or kind in whole]
    met = [kind for kind in mine if kind in kinds]
    listed: Any = results.campaign.parameters.get(TOO_FEW) or ()
    excused = not kinds.isdisjoint(wanted)
    short = [one["words"] for one in listed if one["check"] == check and not excused]
    failed = [WORDS.format_map(one) for one in open_ if f"{check}: {one['status']}" not in wanted]
    failed += [f"too few comparisons: {line}" for line in short]
    failed += [f"expected, but not met: {kind}: {wanted[kind]}" for kind in mine if kind not in met]
    failed += [f"{REFUSED}: {line}" for line in refused if REFUSED not in wanted]
    failed += [f"internal error: {line}" for line in results.campaign.errors(INTERNAL, DISAGREEMENT)]
    if not (report.passed or report.failures or listed or failed or met):
        failed = [results.summary.sentence, *results.campaign.notes]  # The problem is VACUOUS as a whole.
    if failed:
        raise FailedError("\n".join([f"{results.campaign.name}: {results.summary.sentence}", *failed]))
    if met:
        return Unshown("; ".join(f"{kind}: {wanted[kind]}" for kind in met), expected=True)
    if all(one["status"] == "VACUOUS" for one in own):
        told = dict.fromkeys(one["reason"].splitlines()[0] for one in own)
        return Unshown("; ".join(told) or f"{check} does not apply to this solver and problem")
    return None


_kept: OrderedDict[Hashable, tuple[object, Report | FailedError]] = OrderedDict()


def once(key: Hashable, subject: object, make: Callable[[], Report]) -> Report:
    """A report on a subject that is made once, and the error that ended it raised again."""
    __tracebackhide__ = True
    known = _kept.get(key)
    if known is None or known[0] is not subject:
        made: Report | FailedError
        try:
            made = make()
        except FailedError as error:
            made = error
        known = _kept[key] = subject, made
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    if isinstance(known[1], FailedError):
        raise FailedError(str(known[1]))
    return known[1]


class _TimeIsUpError(BaseException):
    """The time is up; no error, so that none who catches errors of a solver takes it for one."""


@contextmanager
def limited(seconds: float | None, what: str) -> Iterator[None]:
    """End what takes longer than this, in the main thread, by a FailedError; None: never.

    The system has one timer of this kind. One that runs, such as that of pytest-timeout, ends the block if
    it is over first, and has the rest of its time behind the block.
    """
    if seconds is None:
        yield
        return
    seconds = positive("time limit", "time_limit", seconds)
    in_main = threading.current_thread() is threading.main_thread()
    outer = signal.getitimer(signal.ITIMER_REAL)[0]
    if not in_main or 0 < outer <= seconds:
        yield
        return

    def over(*_: object) -> None:
        raise _TimeIsUpError

    before, begin = signal.signal(signal.SIGALRM, over), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TimeIsUpError:
        raise FailedError(f"{what}: did not end within {seconds:g} s (time_limit)") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - begin), 1e-3))


def shown(outcome: Unshown | None) -> None:
    """Say under pytest what a test does not show: a skip, or an expected failure."""
    import pytest

    __tracebackhide__ = True
    if outcome is not None:
        (pytest.xfail if outcome.expected else pytest.skip)(outcome.reason)
