"""What a speed-up is made of: a weak baseline, a better panel product, fewer messages.

Seconds of an iteration are measured of the program, own(s), and of our classical solver, strong, the
fastest of its exchanges; each on P ranks with latency, and on one rank, where nothing is communicated
(own1, strong1). The speed-up that a paper would report is N = own(1) / own(s). With mid(x, y, z) the one in
the middle,

    C  = mid(strong, own(s), own(1))        the classical method at its best, on P ranks
    C1 = mid(strong1, own1(s), own1(1))     the same on one rank
    weak = own(1) / C                       what a classical method as good as ours would take away
    S  = C / own(s)                         what is left: N = weak S

Of S, one rank shows how much comes without a single message (blocked products, coordinates drawn twice
formed once, fewer calls). How large the two factors are depends on which is taken first, so both ways are
told; either way they multiply to S:

    messages last:   panel = C1 / own1(s),          messages = S / panel
    messages first:  messages = C / (C - saved),    panel = S / messages

saved is what the collectives that s-step leaves out took. Of the faster of own(1) and strong, its time less
that without the delay is what the delay costs; a collective of one word alone, without a delay, is added
for each that it makes. Of this, s-step leaves out the share 1 - c(s)/c(1) of its collectives:

    saved = (1 - c(s)/c(1)) (late - not late + c lone)

and at most C (1 - c(s)/c(1)), where communication is all that C is made of.

Why the middle: a program's baseline is weak only as far as the program itself gets beyond it. Where our
classical solver is faster than even the program's s-step, all of N is a weak baseline; where it is slower
than the program's classical method, nothing is. What the program's s-step gains over our classical solver,
be it less than 1, is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sstep_verify.laboratory.latency import Subject, require_positive
from sstep_verify.laboratory.ours import OurSolver
from sstep_verify.laboratory.samples import Cell, Delay, Sample, quartiles

PROGRAM, NOT_LATE = "program", ", not late"

Key = tuple[str, int, int]
"""Whose, s, and ranks: the program's, or our classical solver's by its exchange; with `NOT_LATE` behind it
without the delay."""


@dataclass(frozen=True)
class Times:
    """What the factors are made of, of one s; seconds of an iteration.

    Parameters
    ----------
    own, own_s, strong : float
        On P ranks with latency: the program's classical method, its s-step, our classical solver.
    own1, own1_s, strong1 : float
        The same on one rank.
    saved : float
        What the collectives that s-step leaves out took.
    fewer : float
        Collectives of an iteration of s-step over those of the classical method.
    """

    own: float
    own_s: float
    strong: float
    own1: float
    own1_s: float
    strong1: float
    saved: float
    fewer: float


@dataclass(frozen=True)
class Factors:
    """What a speed-up is made of; ``weak * panel * messages`` is `total`, and so is the other order.

    Parameters
    ----------
    total : float
        The speed-up over the program's own classical method (N).
    weak : float
        Of it, what a better classical method has as well.
    panel, messages : float
        Of the rest, what one rank gains without a message, and what remains for fewer messages.
    messages_first, panel_last : float
        The same with the messages counted first.
    over_strong : float
        Our classical solver over the program's s-step.
    """

    total: float
    weak: float
    panel: float
    messages: float
    messages_first: float
    panel_last: float
    over_strong: float


def factors(times: Times) -> Factors:
    """The factors of one s."""
    classical = _middle(times.strong, times.own_s, times.own)
    alone = _middle(times.strong1, times.own1_s, times.own1)
    left, panel = classical / times.own_s, alone / times.own1_s
    saved = min(max(times.saved, 0.0), classical * max(1.0 - times.fewer, 0.0))
    first = classical / (classical - saved)
    return Factors(
        times.own / times.own_s, times.own / classical, panel, left / panel, first, left / first,
        times.strong / times.own_s,
    )  # fmt: skip


def _middle(one: float, two: float, three: float) -> float:
    return sorted((one, two, three))[1]


@dataclass(frozen=True)
class Plan:
    """How an autopsy is made.

    Parameters
    ----------
    s : tuple of int
        Iterations of a window that are tried, 1 among them.
    delay : Delay
        Of every collective on the P ranks.
    ranks, repeats : int
        P; stretches of each cell.
    seconds : float
        Length of a stretch.
    """

    s: tuple[int, ...]
    delay: Delay
    ranks: int
    repeats: int
    seconds: float


@dataclass(frozen=True)
class Autopsy:
    """What was measured.

    Parameters
    ----------
    subject, problem : str
        What ran, and what it solved.
    plan : Plan
        How.
    cells : dict
        Seconds by `Key`.
    lone : tuple of float
        Seconds of a collective alone without a delay, in every repeat.
    ours : bool
        Whether the program is our solver, whose own classical method may be the strong one.
    """

    subject: str
    problem: str
    plan: Plan
    cells: dict[Key, Cell]
    lone: tuple[float, ...]
    ours: bool

    def strongest(self, ranks: int) -> str:
        """Exchange of our fastest classical solver on some ranks; `PROGRAM` for our solver's own."""
        candidates = [
            key
            for key in self.cells
            if key[1:] == (1, ranks) and not key[0].endswith(NOT_LATE) and (self.ours or key[0] != PROGRAM)
        ]
        return min(candidates, key=lambda key: self.cells[key].seconds)[0]

    @property
    def best(self) -> int:
        """The program's s of the least seconds on P ranks."""
        tried = [s for s in self.plan.s if s > 1]
        return min(tried, key=lambda s: self.cells[PROGRAM, s, self.plan.ranks].seconds)

    def factors(self, s: int) -> Factors:
        """From the medians, so that they multiply to the speed-up of the medians."""
        return factors(self._times(s, None))

    def spread(self, s: int) -> list[Factors]:
        """From every repeat by itself."""
        return [factors(self._times(s, repeat)) for repeat in range(self.plan.repeats)]

    def _times(self, s: int, repeat: int | None) -> Times:
        ranks, best, best1 = self.plan.ranks, self.strongest(self.plan.ranks), self.strongest(1)
        classical, own = self.cells[PROGRAM, 1, ranks], self.cells[PROGRAM, s, ranks]

        def taken(who: str, s: int, ranks: int) -> float:
            cell = self.cells[who, s, ranks]
            return cell.seconds if repeat is None else cell.all_seconds[repeat]

        lone = quartiles(list(self.lone))[1] if repeat is None else self.lone[repeat]
        base = min(PROGRAM, best, key=lambda who: taken(who, 1, ranks))
        late = taken(base, 1, ranks) - taken(base + NOT_LATE, 1, ranks)
        fewer = own.collectives / classical.collectives
        saved = (1.0 - fewer) * (late + self.cells[base, 1, ranks].collectives * lone)
        return Times(
            taken(PROGRAM, 1, ranks), taken(PROGRAM, s, ranks), taken(best, 1, ranks),
            taken(PROGRAM, 1, 1), taken(PROGRAM, s, 1), taken(best1, 1, 1),
            saved, fewer,
        )  # fmt: skip


def autopsy(
    subject: Subject | None,
    problem: str,
    plan: Plan,
    ours: OurSolver,
    exchanges: tuple[str, ...],
    tell: Callable[[str], None] = lambda _: None,
) -> Autopsy:
    """Measure all that the factors are made of, in turn, again and again.

    Parameters
    ----------
    subject : Subject or None
        The program; our own solver where there is none.
    problem : str
        What is solved, in words.
    plan : Plan
        How.
    ours : OurSolver
        The classical baseline, whose ranks time the collective alone too.
    exchanges : tuple of str
        Exchanges of the baseline that are tried; where our solver is the subject, beside its own.
    tell : callable
        Told how far it is.
    """
    measured = subject or ours
    keys: list[Key] = [(PROGRAM, s, ranks) for ranks in (1, plan.ranks) for s in plan.s]
    keys += [(exchange, 1, ranks) for ranks in (1, plan.ranks) for exchange in exchanges]
    keys += [(who + NOT_LATE, 1, plan.ranks) for who in (PROGRAM, *exchanges)]
    samples: dict[Key, list[Sample]] = {key: [] for key in keys}
    lone = []
    for repeat in range(plan.repeats):
        tell(f"repeat {repeat + 1} of {plan.repeats}")
        lone.append(ours.collective(plan.ranks, Delay(), plan.seconds))
        for who, s, ranks in keys:
            delay = Delay() if ranks == 1 or who.endswith(NOT_LATE) else plan.delay
            if who.startswith(PROGRAM):
                found = measured.sample(s, ranks, delay, plan.seconds)
            else:
                found = ours.sample(s, ranks, delay, plan.seconds, who.removesuffix(NOT_LATE))
            samples[who, s, ranks].append(found)
    cells = {key: Cell(tuple(found)) for key, found in samples.items()}
    require_positive(cells, plan.seconds)
    return Autopsy(measured.name, problem, plan, cells, tuple(lone), subject is None)
