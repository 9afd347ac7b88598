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

from dataclasses import dataclass


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
