"""Ends of a call on P ranks other than its result: typed errors that name the guilty ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sstep_verify.errors import NotMadeError, SstepVerifyError

SHOWN = 8
"""Ranks of a large job that an error shows one by one."""


DEPTH = 10
"""Calls of a stack that an error shows where many ranks have their say."""


class LaunchError(SstepVerifyError, RuntimeError):
    """A call on P ranks did not end with a result from each of them."""

    ranks: tuple[int, ...] = ()
    """Ranks to blame, as far as is known."""


@dataclass(frozen=True)
class RankState:
    """The place of a rank when it was asked.

    `inside` is the collective that it waits in, empty if it is in none; `entered` counts those of this
    call, this one included; `stack` is that of its main thread, innermost call last; `finished` says
    whether it had ended its part and reported; `history` has a digest of the kinds and lengths of the
    collectives entered, after each of the last ones.
    """

    rank: int
    inside: str = ""
    entered: int = 0
    stack: str = ""
    finished: bool = False
    history: tuple[int, ...] = ()

    def describe(self) -> str:
        """One line."""
        if self.finished:
            return f"rank {self.rank} had ended its part (entered {self.entered})"
        if not self.stack:
            return f"rank {self.rank} did not answer (it is stopped or gone)"
        where = f"waits in {self.inside}" if self.inside else "is in no counted collective"
        return f"rank {self.rank} {where} (entered {self.entered})"


class RankError(LaunchError):
    """A rank raised an exception.

    `failures` are, per rank that raised, the name of the exception's type, its message and its traceback;
    `stuck` is what the other ranks were doing if they could not continue.
    """

    def __init__(
        self, function: str, failures: Mapping[int, tuple[str, str, str]], stuck: Sequence[RankState] = ()
    ):
        self.failures = dict(failures)
        self.ranks = tuple(sorted(self.failures))
        self.stuck = tuple(stuck)
        kind, message, trace = self.failures[self.ranks[0]]
        self.kind = kind
        lines = [f"{function}: {_named(self.ranks)} raised {kind}: {message}"]
        lines += [f"  {state.describe()}" for state in self.stuck]
        super().__init__("\n".join([*lines, f"traceback of rank {self.ranks[0]}:", trace.rstrip()]))


class RankLostError(LaunchError):
    """A rank ended without a word: killed, crashed, or aborted.

    Of the ranks that are gone the first ones noticed come first; `log` is what the ranks wrote, such as the
    stack that a crash leaves.
    """

    def __init__(self, function: str, ranks: Sequence[int], log: str):
        self.ranks, self.log = tuple(ranks), log
        super().__init__(
            f"{function}: lost {_named(self.ranks)} (killed, crashed or aborted)\n{log}".rstrip()
        )


class NotStartedError(LaunchError, NotMadeError):
    """Ranks of a pool did not come together; what is known of those that the others wait for."""

    def __init__(self, size: int, suspects: Mapping[int, str], log: str):
        self.ranks = tuple(suspects)
        said = "; ".join(f"rank {rank} {text}" for rank, text in suspects.items())
        super().__init__(f"{size} ranks did not start: {said or 'MPI_Init did not end'}\n{log}".rstrip())


class HangError(LaunchError):
    """Some ranks hang; what every rank was doing.

    They did not come to their end, or to what is `missed`, within `limit` seconds.
    """

    def __init__(self, function: str, limit: float, states: Sequence[RankState], missed: str = "end"):
        self.states = tuple(states)
        self.ranks = guilty(self.states)
        lines = [f"{function}: no {missed} within {limit:g} s; suspect: {_named(self.ranks)}"]
        lines += [f"  {state.describe()}" for state in self.states]
        lines += [
            f"stack of rank {state.rank}:\n{state.stack}"
            for state in self.states
            if state.stack and not state.finished
        ]
        super().__init__("\n".join(lines))


class SlowError(LaunchError, NotMadeError):
    """A call or a program took `seconds` of the clock and did not hang: nothing is said of it.

    `option` allows it more.
    """

    def __init__(self, function: str, seconds: float, states: Sequence[RankState], option: str = "limit"):
        self.states = tuple(states)
        still = "the ranks still made progress, or" if states else "it"
        lines = [
            f"{function}: not judged: no end within {seconds:.4g} s of the clock, but {still} waited for a "
            "processor; end what else runs on this machine, or allow more seconds "
            f"({option})"
        ]
        super().__init__("\n".join([*lines, *(f"  {state.describe()}" for state in self.states)]))


class MismatchError(LaunchError):
    """The ranks did not enter the same collectives, though the call came to an end.

    `states` tell where every rank stands, `failures` are complaints of the MPI library, by rank, and `log`
    is what the ranks wrote, where the library ended them.
    """

    def __init__(
        self,
        function: str,
        states: Sequence[RankState],
        failures: Mapping[int, tuple[str, str, str]] | None = None,
        log: str = "",
    ):
        self.states, self.failures = tuple(states), dict(failures or {})
        self.ranks = dissenters(self.states)
        lines = [
            f"{function}: the ranks did not enter the same collectives with the same lengths; "
            f"suspect: {_named(self.ranks)}"
        ]
        lines += [f"  {state.describe()}" for state in self.states]
        lines += [
            f"traceback of rank {rank}:\n{trace.rstrip()}"
            for rank, (_, _, trace) in sorted(self.failures.items())
        ]
        super().__init__("\n".join([*lines, log]).rstrip())


class StallError(LaunchError):
    """No rank of a job makes progress any more.

    `quiet` are the seconds since the last sign of progress of any rank, where `allowed` were allowed.
    """

    def __init__(self, quiet: float, allowed: float, states: Sequence[RankState]):
        self.states = tuple(states)
        self.ranks = guilty(self.states)
        doubt = ""
        if all(state.inside or state.finished for state in states) and len(self.ranks) == len(states):
            doubt = " (all wait, and no majority tells who left a collective out or entered one too many)"
        lines = [f"no rank has made progress for {quiet:.3g} s; suspect: {_named(self.ranks)}{doubt}"]
        # Of many ranks those to blame, and a few that wait for them.
        first = sorted(self.states, key=lambda state: (state.rank not in self.ranks, state.rank))[:SHOWN]
        lines += [f"  {state.describe()}" for state in sorted(first, key=lambda state: state.rank)]
        if len(states) > len(first):
            lines.append(f"  and {len(states) - len(first)} ranks more")
        stacks = [state for state in first if state.stack]
        known = [state for state in stacks if state.rank in self.ranks] or stacks[:1]
        lines += [f"stack of rank {state.rank}, innermost call last:\n{_inner(state)}" for state in known]
        super().__init__("\n".join([*lines, f"allowed were {allowed:.3g} s"]))


def guilty(states: Sequence[RankState]) -> tuple[int, ...]:
    """Ranks that keep the others waiting, or that differ from most.

    A rank that has not ended its part and waits in no collective is guilty for certain: it loops, or it is
    stopped. Without such a rank they are those that entered another collective than most, the first time
    that the ranks differ, or another number of them. They are all of them where there is no majority, as
    with a collective too many or too few on one of two ranks.
    """
    running = tuple(state.rank for state in states if not state.finished and not state.inside)
    return running or dissenters(states) or tuple(state.rank for state in states)


def dissenters(states: Sequence[RankState]) -> tuple[int, ...]:
    """Ranks that entered other collectives than most; all that differ where there is no majority.

    A rank that has not come as far as the first difference is not judged by it.
    """
    digests = [
        (count, digest, state.rank)
        for state in states
        for count, digest in enumerate(state.history, start=state.entered - len(state.history) + 1)
    ]
    for place in sorted({count for count, _, _ in digests}):
        found = _minority([(digest, rank) for count, digest, rank in digests if count == place])
        if found:
            return found
    return _minority([(state.entered, state.rank) for state in states])


def _minority(votes: list[tuple[int, int]]) -> tuple[int, ...]:
    """Ranks of the (value, rank) pairs whose value is not the most frequent; all, if several are."""
    ranks: dict[int, list[int]] = {}
    for value, rank in votes:
        ranks.setdefault(value, []).append(rank)
    if len(ranks) == 1:
        return ()
    most = max(map(len, ranks.values()))
    usual = [value for value in ranks if len(ranks[value]) == most]
    return tuple(sorted(rank for value, rank in votes if len(usual) > 1 or value != usual[0]))


def _inner(state: RankState) -> str:
    """The innermost calls of a stack."""
    first, *calls = state.stack.rstrip().split("\n  File ")
    return "\n  File ".join([first if len(calls) < DEPTH else "  ..", *calls[-DEPTH:]])


def _named(ranks: Sequence[int]) -> str:
    return "rank " + (", ".join(map(str, ranks)) or "unknown")
