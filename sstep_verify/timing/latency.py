"""Classical against s-step under injected latency, every cell measured and predicted.

The prediction looks at no run with a delay. Of an iteration with windows of s at delay D:

    predicted(s, D) = measured(s, 0) + c(s) (lone(D) - lone(0)) + transfer

measured(s, 0) is the time at no delay, c(s) the collectives of an iteration as the interposer counted them
there, lone(D) a collective of one word with nothing else being done: what a delay really is, waking
included. transfer is what the delay adds for each byte, if it does. So the prediction assumes that
computing takes as long on a slow network as on a fast one, and that ranks wait for nothing else;
the errors show how far that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sstep_verify.errors import InputError
from sstep_verify.files import csv_text
from sstep_verify.report.chart import AgainstS, draw_against_s, standalone
from sstep_verify.timing.measure import Cell, Delay, Plan, Sample, levels, quartiles

if TYPE_CHECKING:
    from sstep_verify.timing.programs import SomeProgram
    from sstep_verify.timing.ranks import OurSolver

COLUMNS = (
    "delay", "s", "measured", "lower quartile", "upper quartile", "predicted", "error", "speed-up",
    "speed-up, lower quartile", "speed-up, upper quartile", "predicted speed-up", "collectives", "words",
)  # fmt: skip

UNITS = (
    "us: microseconds of an iteration, median [quartiles] of the repeats; speed-up: the same of the "
    "ratio in each repeat"
)


@dataclass(frozen=True)
class Latency:
    """A study of latency: what ran, what it solved, how, and the cell of every s at every delay.

    `lone` has the seconds of a collective of one word alone in every repeat, by delay.
    """

    subject: str
    problem: str
    plan: Plan
    cells: dict[tuple[int, Delay], Cell]
    lone: dict[Delay, list[float]]

    def cell(self, s: int, delay: Delay) -> Cell:
        """What was measured of an s at a delay."""
        return self.cells[s, delay]

    def given(self, delay: Delay) -> float:
        """Seconds that a delay adds to a collective of one word, as it really is."""
        late, free = (quartiles(self.lone[one])[1] for one in (delay, Delay()))
        return late - free

    def predicted(self, s: int, delay: Delay) -> float:
        """Seconds of an iteration, from runs without a delay."""
        free = self.cell(s, Delay())
        waiting = free.collectives * self.given(delay)
        return free.seconds + waiting + delay.transfer(self.plan.ranks, free.words)

    def error(self, s: int, delay: Delay) -> float:
        """Predicted over measured, less 1."""
        return self.predicted(s, delay) / self.cell(s, delay).seconds - 1.0

    def speedup(self, s: int, delay: Delay) -> tuple[float, float, float]:
        """Classical over s-step of every repeat: lower quartile, median, upper quartile."""
        classical, own = self.cell(1, delay), self.cell(s, delay)
        return quartiles([a / b for a, b in zip(classical.all_seconds, own.all_seconds, strict=True)])

    def predicted_speedup(self, s: int, delay: Delay) -> float:
        """The same, predicted."""
        return self.predicted(1, delay) / self.predicted(s, delay)

    def best(self, delay: Delay) -> int:
        """The s of the least seconds measured."""
        return min(self.plan.s, key=lambda s: self.cell(s, delay).seconds)

    def predicted_best(self, delay: Delay) -> int:
        """The s of the least seconds predicted."""
        return min(self.plan.s, key=lambda s: self.predicted(s, delay))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each delay and s; times in microseconds."""
        for delay in self.plan.delays:
            for s in self.plan.s:
                cell = self.cell(s, delay)
                low, middle, high = (1e6 * value for value in quartiles(cell.all_seconds))
                slow, gain, fast = self.speedup(s, delay)
                values = (
                    delay.microseconds, s, middle, low, high, 1e6 * self.predicted(s, delay),
                    self.error(s, delay), gain, slow, fast, self.predicted_speedup(s, delay),
                    cell.collectives, cell.words,
                )  # fmt: skip
                yield dict(zip(COLUMNS, values, strict=True))

    def lines(self, about: str) -> Iterator[str]:
        """The study for a terminal."""
        plan = self.plan
        repeats = f"{plan.repeats} repeats of {plan.seconds:g} s"
        yield f"{self.problem}: {self.subject}, P = {plan.ranks}, {repeats}"
        yield about
        yield UNITS
        rows = self.rows()
        for delay in plan.delays:
            real = 1e6 * quartiles(self.lone[delay])[1]
            rest = "" if delay == Delay() else f", so {1e6 * self.given(delay):.0f} us late"
            yield f"delay {delay.microseconds:g} us a level: a collective alone takes {real:.1f} us{rest}"
            yield "     s         us              predicted   error   speed-up           predicted"
            for _, row in zip(plan.s, rows, strict=False):
                yield _line(row, delay)
        yield from self.conclusion()

    def conclusion(self) -> Iterator[str]:
        """Best s and speed-up at every delay, and how far predictions were off."""
        yield "best s of each delay, over the classical method:"
        for delay in self.plan.delays:
            best, guess = self.best(delay), self.predicted_best(delay)
            low, gain, high = self.speedup(best, delay)
            yield (
                f"  {delay.microseconds:6g} us: s = {best}, {gain:.1f}x [{low:.1f}, {high:.1f}]; predicted "
                f"s = {guess}, {self.predicted_speedup(guess, delay):.1f}x"
            )
        errors = sorted(abs(self.error(s, delay)) for s, delay in self.cells if delay != Delay())
        if errors:
            yield (
                f"predictions from runs without a delay: error {quartiles(errors)[1]:.1%} (median of "
                f"{len(errors)} cells), {errors[-1]:.1%} (largest), {sum(e <= 0.25 for e in errors)} of "
                f"{len(errors)} within 25 %"
            )

    def document(self, about: dict[str, Any]) -> dict[str, Any]:
        """The study as plain values; times in microseconds."""
        plan = self.plan
        return {
            "format": "sstep-verify latency 1", **about, "problem": self.problem, "subject": self.subject,
            "ranks": plan.ranks, "repeats": plan.repeats, "seconds": plan.seconds,
            "per byte": plan.delays[-1].per_byte, "units": "microseconds of an iteration",
            "levels": levels(plan.ranks),
            "collective alone": [
                {"delay": delay.microseconds, "microseconds": [1e6 * value for value in quartiles(values)]}
                for delay, values in self.lone.items()
            ],
            "cells": list(self.rows()), "conclusion": list(self.conclusion()),
        }  # fmt: skip

    def files(self) -> dict[str, str]:
        """All cells as CSV; the speed-up over the classical method against s, a curve for each delay."""
        steps = self.plan.s
        series = [
            AgainstS(
                f"{delay.microseconds:g} us", steps, [self.speedup(s, delay)[1] for s in steps],
                [self.predicted_speedup(s, delay) for s in steps],
            )
            for delay in self.plan.delays
        ]  # fmt: skip
        title = f"{self.problem}, P = {self.plan.ranks} (dashed: predicted)"
        return {
            "csv": csv_text(COLUMNS, (row.values() for row in self.rows())),
            "svg": standalone(draw_against_s(title, "speed-up over s = 1", series)),
        }


def study(
    subject: SomeProgram | None,
    ours: OurSolver,
    problem: str,
    plan: Plan,
    tell: Callable[[str, float], None] = lambda *_: None,
) -> Latency:
    """Measure every s at every delay in turn, again and again, and between them a collective alone.

    `subject` is what is measured, `ours` if there is none. `tell` gets what comes and which part
    is done, 0 to 1, before every segment. InputError if there is nothing to compare, or a difference of
    two runs is lost in what their start-ups vary by.
    """
    if 1 not in plan.s or len(plan.s) < 2:
        given = ", ".join(map(str, plan.s))
        raise InputError(f"s = {given}: s-step is compared with the classical method; give 1 and another s")
    measured = subject or ours
    samples: dict[tuple[int, Delay], list[Sample]] = {
        (s, delay): [] for delay in plan.delays for s in plan.s
    }
    lone: dict[Delay, list[float]] = {delay: [] for delay in plan.delays}
    segments = 0
    for repeat in range(plan.repeats):
        for delay in plan.delays:
            lone[delay].append(ours.collective(plan.ranks, delay, plan.seconds))
            for s in plan.s:
                at = f"repeat {repeat + 1} of {plan.repeats}, delay {delay.microseconds:g} us, s = {s}"
                tell(at, segments / (plan.repeats * len(samples)))
                segments += 1
                samples[s, delay].append(measured.sample(s, plan.ranks, delay, plan.seconds))
    cells = {key: Cell(segments) for key, segments in samples.items()}
    for (s, _), cell in cells.items():
        if min(cell.all_seconds) <= 0:
            raise InputError(
                f"s = {s} on {plan.ranks} ranks: the longer of two runs took less time than the "
                f"shorter one, so segments of {plan.seconds:g} s are too short for this program on "
                "this machine; pass more --seconds"
            )
    return Latency(measured.name, problem, plan, cells, lone)


def _line(row: dict[str, Any], delay: Delay) -> str:
    taken = f"[{row['lower quartile']:.1f}, {row['upper quartile']:.1f}]"
    gains = f"[{row['speed-up, lower quartile']:.1f}, {row['speed-up, upper quartile']:.1f}]"
    guessed, error = f"{row['predicted']:.1f}", f"{row['error']:+.0%}"
    if delay == Delay():
        guessed, error = "-", "-"
    return (
        f"{row['s']:6d}{row['measured']:11.1f} {taken:<19}{guessed:>7}{error:>8}{row['speed-up']:9.2f}x "
        f"{gains:<13}{row['predicted speed-up']:7.2f}x"
    )
