"""What a speed-up is made of: a weak baseline, a better panel product, fewer messages.

Seconds of an iteration are measured of the program, own(s), and of our classical solver, strong, with the
fastest of the exchanges that are tried; each on P ranks with latency, and on one rank, where nothing is
communicated (own1, strong1). The speed-up that a paper would report is N = own(1) / own(s). With
mid(x, y, z) the one in the middle,

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

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sstep_verify.files import csv_text
from sstep_verify.timing.measure import SUBJECT, Delay, Key, Measured, Plan, Tell, quartiles, spread

if TYPE_CHECKING:
    from sstep_verify.timing.programs import SomeProgram
    from sstep_verify.timing.ranks import OurSolver

WIDTH = 110

TIMES = "microseconds of an iteration, median [quartiles]:    one rank, no message          P ranks, late"
FACTORS = "     s   speed-up  =  weak x panel x messages   (messages first: panel x messages)   over strong"
"""Heads of the two tables."""


class Factors(NamedTuple):
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


def factors(
    own: float, own_s: float, strong: float, own1: float, own1_s: float, strong1: float, saved: float,
    fewer: float,
) -> Factors:  # fmt: skip
    """The factors of one s, from seconds of an iteration.

    On P ranks with latency: the program's classical method, its s-step, our classical solver; the same on
    one rank; what the collectives that s-step leaves out took; those of s-step over the classical ones.
    """
    classical, alone = sorted((strong, own_s, own))[1], sorted((strong1, own1_s, own1))[1]
    left, panel = classical / own_s, alone / own1_s
    saved = min(max(saved, 0.0), classical * max(1.0 - fewer, 0.0))
    first = classical / (classical - saved)
    return Factors(own / own_s, own / classical, panel, left / panel, first, left / first, strong / own_s)


def study(
    subject: SomeProgram | None,
    ours: OurSolver,
    problem: str,
    plan: Plan,
    exchanges: tuple[str, ...],
    tell: Tell = lambda _: None,
) -> Autopsy:
    """Measure all that the factors are made of; see `Measured.of`.

    Exchanges are those of the baseline that are tried; where our solver is the subject, beside its own.
    Collectives are late by the last of the plan's delays.
    """
    late = plan.delays[-1]
    keys = [Key(SUBJECT, s, *on) for on in ((1, Delay()), (plan.ranks, late)) for s in plan.s]
    keys += [Key(who, 1, *on) for on in ((1, Delay()), (plan.ranks, late)) for who in exchanges]
    keys += [Key(who, 1, plan.ranks, Delay()) for who in (SUBJECT, *exchanges)]
    return Autopsy.of(subject, ours, problem, plan, keys, (Delay(),), tell)


class Autopsy(Measured):
    """What a speed-up was measured to be made of."""

    @property
    def late(self) -> Delay:
        """Of the collectives on P ranks."""
        return self.plan.delays[-1]

    def key(self, who: str, s: int, ranks: int) -> Key:
        """On one rank there is no delay."""
        return Key(who, s, ranks, Delay() if ranks == 1 else self.late)

    def strongest(self, ranks: int) -> str:
        """Exchange of our fastest classical solver on some ranks; `SUBJECT` for our solver's own."""
        candidates = [
            key for key in self.cells
            if key == self.key(key.who, 1, ranks) and (self.own or key.who != SUBJECT)
        ]  # fmt: skip
        return min(candidates, key=lambda key: self.cells[key].seconds).who

    @property
    def best(self) -> int:
        """The program's s of the least seconds on P ranks."""
        return min(self.steps, key=lambda s: self.cells[self.key(SUBJECT, s, self.plan.ranks)].seconds)

    @property
    def steps(self) -> list[int]:
        """Every s that was tried beside 1."""
        return [s for s in self.plan.s if s > 1]

    def factors(self, s: int) -> Factors:
        """From the medians, so that they multiply to the speed-up of the medians."""
        seconds = {key: cell.seconds for key, cell in self.cells.items()}
        return self._factors(s, seconds, quartiles(self.lone[Delay()])[1])

    def spread(self, s: int) -> list[Factors]:
        """From every repeat by itself."""
        repeats = zip(*(cell.all_seconds for cell in self.cells.values()), strict=True)
        return [
            self._factors(s, dict(zip(self.cells, seconds, strict=True)), lone)
            for seconds, lone in zip(repeats, self.lone[Delay()], strict=True)
        ]

    def _factors(self, s: int, seconds: dict[Key, float], lone: float) -> Factors:
        ranks, strong = self.plan.ranks, {count: self.strongest(count) for count in (1, self.plan.ranks)}

        def taken(who: str, s: int, ranks: int) -> float:
            return seconds[self.key(who, s, ranks)]

        base = min(SUBJECT, strong[ranks], key=lambda who: taken(who, 1, ranks))
        collectives = self.cells[self.key(base, 1, ranks)].collectives
        late = taken(base, 1, ranks) - seconds[Key(base, 1, ranks, Delay())]
        few, many = (self.cells[self.key(SUBJECT, each, ranks)].collectives for each in (s, 1))
        fewer = few / many
        on = [
            (taken(SUBJECT, 1, count), taken(SUBJECT, s, count), taken(strong[count], 1, count))
            for count in (ranks, 1)
        ]
        return factors(*on[0], *on[1], (1.0 - fewer) * (late + collectives * lone), fewer)

    def lines(self, about: str) -> Iterator[str]:
        """The autopsy for a terminal."""
        plan, alone = self.plan, 1e6 * quartiles(self.lone[Delay()])[1]
        yield (
            f"{self.problem}: {self.subject}; P = {plan.ranks}, every collective "
            f"{self.late.microseconds:g} us a level late ({alone:.1f} us without), {plan.repeats} repeats"
        )
        yield about
        yield TIMES
        for name, who, s in self._named():
            one, several = (self._time(self.key(who, s, ranks)) for ranks in (1, plan.ranks))
            yield f"  {name:<44}{one:>26}{several:>27}"
        for key in self.cells:
            if self._is_not_late(key):
                name = key.who.replace(SUBJECT, "its own") + ", not late: classical"
                yield f"  {name:<44}{self._time(key):>53}"
        yield FACTORS
        for s in self.steps:
            of = self.factors(s)
            yield (
                f"{s:6d}{of.total:10.2f}{of.weak:10.2f}{of.panel:8.2f}{of.messages:11.2f}"
                f"{of.panel_last:26.2f}{of.messages_first:11.2f}{of.over_strong:14.2f}"
            )
        yield from textwrap.wrap(self.sentence(), WIDTH)

    def sentence(self) -> str:
        """What the speed-up at the best s is made of, in plain words."""
        s = self.best
        one, repeats = self.factors(s), self.spread(s)
        product = "better" if one.panel >= 1.0 else "worse"

        def told(name: str) -> str:
            low, _, high = quartiles([getattr(each, name) for each in repeats])
            return spread((low, getattr(one, name), high))

        return (
            f"Of the {one.total:.1f}-fold speed-up at s = {s} (P = {self.plan.ranks}, "
            f"{self.late.microseconds:g} us), a factor {told('weak')} is a weak baseline; "
            f"{told('panel')} is a {product} panel product, which one rank without a message has as well; "
            f"{told('messages')} is left for fewer messages ({told('messages_first')} if these are counted "
            f"first, and then {told('panel_last')} for the product). Over the strong classical baseline it "
            f"is {told('over_strong')}. Factors are of the median times, and multiply; in brackets are the "
            "quartiles of the same factors in every repeat, between which they need not lie."
        )

    def document(self, about: dict[str, Any]) -> dict[str, Any]:
        """The autopsy as plain values; times in microseconds."""
        return {
            "format": "sstep-verify autopsy 1", **about, **self.shared, "delay": self.late.microseconds,
            "collective alone": [1e6 * value for value in self.lone[Delay()]],
            "strong": {"one rank": self.strongest(1), "P ranks": self.strongest(self.plan.ranks)},
            "cells": [
                {"who": key.who + ", not late" * self._is_not_late(key), "s": key.s, "ranks": key.ranks,
                 "microseconds": [1e6 * value for value in cell.all_seconds],
                 "collectives": cell.collectives, "words": cell.words}
                for key, cell in self.cells.items()
            ],
            "factors": [
                {"s": s, **self.factors(s)._asdict(), "repeats": [one._asdict() for one in self.spread(s)]}
                for s in self.steps
            ],
            "sentence": self.sentence(),
        }  # fmt: skip

    def files(self) -> dict[str, str]:
        """The factors of every s as CSV."""
        return {"csv": csv_text(("s", *Factors._fields), ((s, *self.factors(s)) for s in self.steps))}

    def _is_not_late(self, key: Key) -> bool:
        return key.ranks > 1 and key.delay != self.late

    def _named(self) -> Iterator[tuple[str, str, int]]:
        """Cells in the order of the table, with their names."""
        strong = {self.strongest(self.plan.ranks): "P ranks"}
        alone = self.strongest(1)
        strong[alone] = "both" if alone in strong else "one rank"
        for who in dict.fromkeys(key.who for key in self.cells):
            mark = f" (strong: {strong[who]})" if who in strong else ""
            if who != SUBJECT:
                yield f"our classical, {who}{mark}", who, 1
                continue
            for s in self.plan.s:
                yield (f"its own classical{mark}" if s == 1 else f"s = {s}"), SUBJECT, s

    def _time(self, key: Key) -> str:
        return spread([1e6 * value for value in quartiles(self.cells[key].all_seconds)], 1)
