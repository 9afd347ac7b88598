"""What verdicts show: the status of a case, the s that are right on it, and one sentence on a campaign.

It says no s, no quantity and no error beyond its verdicts: which s a solver is correct for is said of those
that were judged, and of no other.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sstep_verify.checks.contract import ID as CONTRACT
from sstep_verify.checks.optimum import ID as ANSWER
from sstep_verify.checks.registry import CHECKS, PRIMARY, gates_of, judges_a_vector
from sstep_verify.checks.shared.final_vector import MEASURED, OVER
from sstep_verify.checks.step_replay import ID as STEPS
from sstep_verify.checks.trajectory import ID as ENDS
from sstep_verify.errors import counted
from sstep_verify.problems.losses import TASKS
from sstep_verify.quantities import KERNEL
from sstep_verify.report.case import Case, noun_of
from sstep_verify.report.plain import enclosed, grouped, promised
from sstep_verify.report.telling import gave_up, telling
from sstep_verify.report.words import UNOBSERVED, brief_of, s_in_words, s_on
from sstep_verify.verdict import UNSETTLED, NoteKind, Status, Verdict, worst

RANKS = re.compile(r"(?<![^/-])P=(\d+)-?")
"""The number of ranks in the id of a case."""


FINAL_ONLY = "judged by final vectors only"
"""Stands before what is said of runs of which nothing but final vectors was there to be judged."""

UNOBSERVED_WINDOWS = {
    True: f"every step is correct; {UNOBSERVED}",
    False: f"what was judged is correct; {UNOBSERVED}",
}
"""Said of s whose windows could not be distinguished from single steps, by whether steps were judged."""

UNPRINTED = "and the digits that were not printed allow"
"""Said of a vector that is beyond the tolerance, and not by more than the rounding of its decimals."""

FURTHER = "further_s"
"""Fact of a case: its s that were drawn from the seed, of which fewer checks are asked."""

LEVEL = "level"
"""Fact of a case: the level that its solver declares."""


def headline(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    """What was shown: for which s on how many problems, which errors would have shown, which would not."""
    if cases and judges_a_vector(verdicts):
        return _vectors(cases, verdicts)
    statuses = {*(case.status for case in cases), *(one.status for one in verdicts)}
    unsettled = not statuses.isdisjoint(UNSETTLED)
    noun = noun_of(cases)
    right = {case.id: right_at(case, verdicts) for case in cases}
    unseen = {name: _unobserved(name, values, verdicts) for name, values in right.items()}
    made = {name: [s for s in values if s not in unseen[name]] for name, values in right.items()}
    planned = Counter(s for case in cases for s in case.s)
    words = right_in_words(made, not unsettled, noun, planned)
    words = ["; ".join(words)] * bool(words)
    ends = by_final_vectors(cases, verdicts)
    if failed := [case.id for case in cases if case.status == Status.FAIL]:
        wrong = [one.s for one in verdicts if one.case in failed and one.status is Status.FAIL]
        first = f" (first at s = {min(wrong)})" if wrong else ""
        fewer = _right_on_fewer_ranks(failed, cases, verdicts)
        words.insert(0, f"faulty on {len(failed)} of {counted(len(cases), noun)}{first}{fewer}")
    if undecided := sum(case.status == Status.INCONCLUSIVE for case in cases):
        words.append(f"inconclusive on {counted(undecided, noun)}")
    words += _vacuous(cases, verdicts, noun)
    if 0 < len(ends) < len(cases):
        words.append(f"{counted(len(ends), noun)} {FINAL_ONLY}")
    hidden = _unobserved_in_words(unseen, verdicts, lambda found: "; ".join(_groups(found, noun, planned)))
    if not (words or hidden):
        words = [f"correct on none of {counted(len(cases), noun)}"]
    level = f"{FINAL_ONLY}: " * (len(ends) == len(cases) > 0)
    restrict = _restrict(cases, verdicts)
    return level + "; ".join(filter(None, [", ".join(words), restrict, *hidden, *_tested(verdicts, noun)]))


def gave_up_on(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """The cases on which the solver raised an error at every s, each with the first such verdict."""
    by_case = grouped((one for one in verdicts if one.check == CONTRACT), lambda one: one.case)
    return {
        name: own[0]
        for name, own in by_case.items()
        if all(one.status is Status.FAIL and gave_up(one) for one in own)
    }


def _restrict(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    """How to leave out the tasks on all of whose cases the solver raised an error, if others are left."""
    gave_up = gave_up_on(verdicts)
    by_task = grouped(cases, lambda case: case.task)
    without = [task for task, own in by_task.items() if all(case.id in gave_up for case in own)]
    others = [task for task in by_task if task not in without]
    if not without or not others or not by_task.keys() <= {*TASKS}:
        return ""
    kinds = dict.fromkeys(
        one.kind for case in cases if case.task in without for one in gave_up[case.id].raised
    )
    where = f"every {noun_of(cases)} of {' and '.join(without)}"
    these = "these" if without[1:] else "this"
    options = " ".join(f"--task {task}" for task in others)
    return (
        f"the solver raised {' and '.join(kinds)} on {where}: if it is not made for {these}, "
        f"restrict with {options} (tasks={others})"
    )


def _stepped(verdicts: Sequence[Verdict]) -> set[tuple[str, int]]:
    """Cases with the s at which their steps were judged one by one, and are correct."""
    return {(one.case, one.s) for one in verdicts if one.check == STEPS and one.status is Status.PASS}


def _unobserved_in_words(
    unseen: Mapping[str, Sequence[int]],
    verdicts: Sequence[Verdict],
    told: Callable[[Mapping[str, Sequence[int]]], str],
) -> list[str]:
    """What is said of s, by case, of which no windows were observed; `told` writes the s of some cases."""
    stepped, words = _stepped(verdicts), []
    for by_steps, said in UNOBSERVED_WINDOWS.items():
        of_kind = {
            name: [s for s in values if ((name, s) in stepped) is by_steps]
            for name, values in unseen.items()
        }
        if found := {name: values for name, values in of_kind.items() if values}:
            words.append(f"{said}: {told(found)}")
    return words


def _unobserved(name: str, right: Sequence[int], verdicts: Sequence[Verdict]) -> list[int]:
    """Those s of a case, whose steps are correct, of which no windows were observed."""
    noted = {one.s for one in verdicts if one.case == name and _has_note(one, NoteKind.UNOBSERVED)}
    return [s for s in right if s in noted]


def _has_note(verdict: Verdict, kind: NoteKind) -> bool:
    return any(note.kind is kind for note in verdict.notes)


def by_final_vectors(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[str]:
    """The ids of the cases whose solver shows final vectors only, or none of whose steps was judged."""
    own = {case.id: [one for one in verdicts if one.case == case.id] for case in cases}
    levels = {case.id: case.facts.get(LEVEL) for case in cases}
    return [name for name, those in own.items() if judges_ends(those, levels[name])]


def judges_ends(verdicts: Sequence[Verdict], level: object) -> bool:
    """Whether the verdicts of a case, with this level declared, judge runs by their final vectors only."""
    known = bool(verdicts) and not judges_a_vector(verdicts)
    return known and (level == 0 or gates_of(verdicts) != PRIMARY)


def _vectors(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    """What was shown of vectors that were handed over."""
    words = []
    for case in cases:
        found = next(one for one in verdicts if one.case == case.id and one.check == ANSWER)
        name = "relative error" if case.task == "krr" else "gap over the optimal value"
        name += ", of the nearest vector in the box," * _has_note(found, NoteKind.MOVED)
        over: Any = next((one for key, one in found.evidence.items() if key in OVER), None)
        optimum = _as_optimum(found) if found.status is Status.PASS else ""
        wrong = "not the optimum" if found.status is Status.FAIL else "outside its box"
        told = {Status.PASS: optimum, Status.FAIL: wrong, Status.VACUOUS: "vacuous"}
        # Of a vector that is not finite, or too large, nothing is known.
        reached = f"{name} in {enclosed(*over)}" if over else f"no {name.partition(',')[0]} is known"
        if over and over[1] in (None, math.inf):  # The optimum is 0, or not known to be more.
            measured: Any = found.evidence[MEASURED]
            name = "distance from the optimum" if case.task == "krr" else "gap"
            reached = f"{name} in {enclosed(*measured)}, absolute"
        words.append(f"{told.get(Status(case.status), 'undecided')}, {reached}")
    return "; ".join(words)


def _as_optimum(verdict: Verdict) -> str:
    """What a vector that passed is: the optimum to a tolerance, or but for digits that were not printed."""
    told = (one.detail for one in verdict.notes if one.kind is NoteKind.RELATIVE)
    over, tolerance = next(told, (math.inf, 0.0))
    if float(over) <= float(tolerance):
        return f"the optimum to {tolerance:g}"
    allowed = f" ({promised(together)} together)" if (together := _allowed(verdict)) < math.inf else ""
    return f"no farther from the optimum than {tolerance:g} {UNPRINTED}{allowed}"


def _allowed(verdict: Verdict) -> float:
    """What a vector may be off by, as a share of the optimum; infinite where no share is known."""
    shares: Any = next((one for key, one in verdict.evidence.items() if key in OVER), (0.0, None))
    measured: Any = verdict.evidence[MEASURED]
    if shares[1] in (None, math.inf) or not measured[1]:
        return math.inf
    return verdict.bound * (shares[1] / measured[1])


def _vacuous(cases: Sequence[Case], verdicts: Sequence[Verdict], noun: str) -> list[str]:
    """The cases that showed nothing, apart by the s for which they showed it where others are right."""
    found: dict[str, list[str]] = {}
    for case in (one for one in cases if one.status == Status.VACUOUS):
        right = right_at(case, verdicts)
        at = [s for s in case.s if s not in right] if right else []
        found.setdefault(f" for {s_in_words(at)}" if at else "", []).append(case.id)
    return [
        f"vacuous{at} on {counted(len(named), noun)} ({', '.join(named)})"
        for at, named in sorted(found.items())
    ]


def _right_on_fewer_ranks(named: Sequence[str], cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    """How many of the cases whose values are wrong on several ranks pass on fewer.

    Of one of which only messages were counted wrong, or the like, that says nothing of what ranks sum.
    """
    wrong = {one.case for one in verdicts if one.status is Status.FAIL and one.check in (*PRIMARY, ENDS)}
    right = [_apart(case.id) for case in cases if case.status == Status.PASS]
    fewer = [
        name
        for name, (alone, ranks) in ((name, _apart(name)) for name in named)
        if name in wrong and any(alone == one and some < ranks for one, some in right)
    ]
    if not fewer:
        return ""
    return f" ({len(fewer)} of these correct on fewer ranks: what ranks distribute or sum is at fault)"


def _apart(name: str) -> tuple[str, int]:
    """The name of a case without its number of ranks and without an empty label, and that number."""
    found = RANKS.search(name)
    return RANKS.sub("", name).rstrip("/-"), int(found[1]) if found else 1


def _tested(verdicts: Sequence[Verdict], noun: str) -> list[str]:
    """What the passed verdicts of primary checks would have shown, and what of some run none of them would.

    Of errors in the kernel correction median and worst, of quantities left out the problems.
    """
    best: dict[tuple[str, int], float] = {}
    seen: dict[tuple[str, str, int], bool] = {}
    for one in (one for one in verdicts if one.check in PRIMARY and one.status is Status.PASS):
        made = not _has_note(one, NoteKind.UNOBSERVED)  # No correction was made for certain.
        for term in one.terms:
            if term.name == KERNEL and made:
                best[one.case, one.s] = min(best.get((one.case, one.s), math.inf), term.detection_limit)
            key = term.name, one.case, one.s
            seen[key] = seen.get(key, False) or term.status is Status.PASS
    words = []
    if found := sorted(best.values()):
        words.append(
            "relative errors in the kernel correction, of either sign, that would have shown: "
            f"{promised(found[len(found) // 2])} (median over the runs), {promised(found[-1])} (worst)"
        )
    unseen = grouped((key for key, shown in seen.items() if not shown), lambda key: key[0])
    if unseen:
        on = {name: len({case for _, case, _ in keys}) for name, keys in unseen.items()}
        parts = [f"{name} on {counted(count, noun)}" for name, count in on.items()]
        words.append(f"passed without testing: {', '.join(parts)}")
    return words


def roll_up(verdicts: Sequence[Verdict]) -> tuple[Status, str]:
    """Status of a case and why.

    Any FAIL or INCONCLUSIVE decides. Otherwise the primary gate does: VACUOUS only if no s > 1 could have
    shown a wrong correction, in a complete window. What other checks could not see is in their own
    verdicts.
    The reason of a FAIL is that of the verdict that tells most.
    """
    status = worst(verdict.status for verdict in verdicts)
    if status in UNSETTLED:
        told = telling([verdict for verdict in verdicts if verdict.status is status])
        s = "" if judges_a_vector(verdicts) else f", s = {told.s}"
        return status, f"{told.check}{s}: {brief_of(told)}"
    gates = gates_of(verdicts)
    primary = [verdict for verdict in verdicts if verdict.check in gates]
    if not primary:
        return Status.VACUOUS, "no step of this case was judged"
    stepped = [verdict for verdict in primary if verdict.s > 1] or primary
    if not any(verdict.status is Status.PASS for verdict in stepped):
        return Status.VACUOUS, brief_of(stepped[-1])
    if judges_a_vector(verdicts):
        return Status.PASS, f"{_as_optimum(primary[0])}. {brief_of(primary[0])}"
    right = {verdict.s for verdict in primary if passes(verdict)}
    short = {verdict.s for verdict in primary if verdict.status is Status.PASS} - right
    vacuous = {verdict.s for verdict in primary} - right - short
    hidden = {one.s for one in primary if one.s in right and _has_note(one, NoteKind.UNOBSERVED)}
    parts = (
        ("correct", right - hidden),
        ("vacuous", vacuous),
        ("no window was complete, so nothing is said,", short),
    )
    reason = "; ".join(f"{word} for {s_in_words(tuple(values))}" for word, values in parts if values)
    unseen = {primary[0].case: sorted(hidden)}
    words = _unobserved_in_words(unseen, primary, lambda found: ", ".join(map(s_in_words, found.values())))
    reason = "; ".join(filter(None, (reason, *words)))
    return Status.PASS if any(passes(verdict) for verdict in stepped) else Status.VACUOUS, reason


def right_at(case: Case, verdicts: Sequence[Verdict]) -> tuple[int, ...]:
    """The s at which a case is right, ascending.

    An s is right if a primary check passed one complete window of it at least, no check could not decide on
    it, and none failed on it. A relation that fails counts against every s that it compares. A failure at
    another s does not count, but against one drawn from the seed at which its check was not asked.
    """
    own = [verdict for verdict in verdicts if verdict.case == case.id]
    if judges_a_vector(own):
        return ()
    gates = gates_of(own)
    passed = {one.s for one in own if one.check in gates and passes(one)}
    right = passed.difference(*(_unsettled_at(one) for one in own))
    failed = {one.check for one in own if one.status is Status.FAIL}
    asked = {(one.check, one.s) for one in own}
    further: Any = case.facts.get(FURTHER, ())
    unasked = {s for s in further if any((check, s) not in asked for check in failed)}
    return tuple(sorted(right - unasked))


def _unsettled_at(verdict: Verdict) -> tuple[int, ...]:
    """The s of which a verdict says that something fails there, or that it could not decide."""
    if verdict.status not in UNSETTLED:
        return ()
    relates = CHECKS[verdict.check].relates if verdict.check in CHECKS else None
    compares = relates is not None and verdict.status is Status.FAIL
    return relates(verdict.s) if relates and compares else (verdict.s,)


def passes(verdict: Verdict) -> bool:
    """Whether a verdict of a primary check is PASS, on one complete window of its s at least.

    What was judged of a run begins where a window does, and only its last one is short: where s steps were
    judged, or the run's end after s of them, a whole window was.
    """
    if verdict.status is not Status.PASS:
        return False
    steps, points = verdict.evidence.get("steps"), verdict.evidence.get("points")
    if isinstance(steps, dict):
        return int(steps["judged"]) >= verdict.s
    if isinstance(points, list):
        ends = (one["iteration"] for one in points if one["status"] == Status.PASS)
        return max(ends, default=0) >= verdict.s
    return True


def right_in_words(
    right: Mapping[str, Sequence[int]],
    wherever: bool = True,
    noun: str = "problem",
    planned: Mapping[int, int] = MappingProxyType({}),
) -> list[str]:
    """Which s are correct on how many of the problems with that s: most problems first.

    ``correct wherever judged: s = 1 on 28 of 28 problems``, ``s = 16 and 256 on 15 of 15 each``; where some
    problem is faulty or undecided, so not `wherever`, ``correct: s = 1 on 27 of 28 problems``. Nothing
    where no s is. `planned` are the problems of each s, at least those on which it is correct.
    """
    if not right:
        return ["nothing judged"]
    words = [*_groups(right, noun, planned)]
    if words:
        words[0] = f"correct{' wherever judged' * wherever}: {words[0]}"
    return words


def _groups(right: Mapping[str, Sequence[int]], noun: str, planned: Mapping[int, int]) -> tuple[str, ...]:
    """Values of s on how many problems, most problems first; the first group names them."""
    counts = Counter(s for found in right.values() for s in set(found))
    of = {s: (count, max(count, planned.get(s, 0))) for s, count in sorted(counts.items())}
    told = sorted(of, key=lambda s: (-of[s][0], s))
    parts = {s: "{} of {}".format(*of[s]) for s in told}
    first = {parts[s]: f"{of[s][0]} of {counted(of[s][1], noun)}" for s in told[:1]}
    return s_on({s: first.get(words, words) for s, words in parts.items()})
