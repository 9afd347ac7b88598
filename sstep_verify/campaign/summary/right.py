"""For which s a solver is right, and the words that say so: of the s that were judged, and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sstep_verify.checks.registry import gates_of, judges_a_vector
from sstep_verify.reporting.results import Case
from sstep_verify.verdict import Status, Verdict

MOST_GROUPS = 8
"""Numbers of problems that are told apart in one sentence, by the s that are right on them."""


def right_at(case: Case, verdicts: Sequence[Verdict]) -> tuple[int, ...]:
    """The s at which a case is right, ascending.

    An s is right if a primary check passed one complete window of it at least, and no check failed on it or
    could not decide. Of a case that is wrong, or undecided, for another s nothing is said.
    """
    own = [verdict for verdict in verdicts if verdict.case == case.id]
    if case.status in (Status.FAIL, Status.INCONCLUSIVE) or judges_a_vector(own):
        return ()
    gates = gates_of(own)
    passed = {one.s for one in own if one.check in gates and passes(one)}
    return tuple(
        sorted(passed - {one.s for one in own if one.status in (Status.FAIL, Status.INCONCLUSIVE)})
    )


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


def s_in_words(values: Sequence[int]) -> str:
    """A set of s: ``s = 1, 7, 64``; ``s <= S`` only of all from 1 to S."""
    found = sorted(set(values))
    if len(found) > 1 and found[-1] == len(found):
        return f"s <= {found[-1]}"
    return f"s = {', '.join(map(str, found))}"


def right_in_words(right: Mapping[str, Sequence[int]]) -> list[str]:
    """Which s are right on how many problems: those right on most first, those on the same ones together.

    Parameters
    ----------
    right : mapping of str to sequence of int
        Of each problem, the s at which it is right.

    Returns
    -------
    list of str
        ``right for s = 1, 7 on 9 of 9 problems``, ``s = 64 on 6``, ...; ``right on none of 9 problems``.
    """
    problems = f"{len(right)} problem{'s' * (len(right) != 1)}"
    on: dict[int, frozenset[str]] = {
        s: frozenset(name for name, values in right.items() if s in values)
        for s in sorted({s for values in right.values() for s in values})
    }
    groups: dict[frozenset[str], list[int]] = {}
    for s, names in on.items():
        groups.setdefault(names, []).append(s)
    told = sorted(groups.items(), key=lambda item: (-len(item[0]), item[1]))
    if not told:
        return [f"right on none of {problems}"]
    (names, first), *rest = told
    words = [f"right for {s_in_words(first)} on {len(names)} of {problems}"]
    words += [f"{s_in_words(values)} on {len(names)}" for names, values in rest[: MOST_GROUPS - 1]]
    left = sum(len(values) for _, values in rest[MOST_GROUPS - 1 :])
    return words + ([f"{left} other values of s on fewer"] if left else [])
