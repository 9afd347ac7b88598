"""What a study of latency says: lines, plain values, CSV, one figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sstep_verify.laboratory.latency import Study
from sstep_verify.laboratory.samples import Delay, levels, quartiles
from sstep_verify.outputs import csv_text, whole_folder, write_text
from sstep_verify.reporting.chart import AgainstS, draw_against_s, standalone

COLUMNS = (
    "delay", "s", "measured", "lower quartile", "upper quartile", "predicted", "error", "speed-up",
    "speed-up, lower quartile", "speed-up, upper quartile", "predicted speed-up", "collectives", "words",
)  # fmt: skip

UNITS = (
    "us: microseconds of an iteration, median [quartiles] of the repeats; speed-up: the same of the "
    "ratio in each repeat"
)


def rows(found: Study) -> Iterator[dict[str, Any]]:
    """One row for each delay and s; times in microseconds."""
    for delay in found.plan.delays:
        for s in found.plan.s:
            cell = found.cells[s, delay]
            low, middle, high = (1e6 * value for value in quartiles(cell.all_seconds))
            slow, gain, fast = found.speedup(s, delay)
            values = (
                delay.microseconds, s, middle, low, high, 1e6 * found.predicted(s, delay),
                found.error(s, delay), gain, slow, fast, found.predicted_speedup(s, delay),
                cell.collectives, cell.words,
            )  # fmt: skip
            yield dict(zip(COLUMNS, values, strict=True))


def lines(found: Study, about: str) -> Iterator[str]:
    """The study for a terminal."""
    plan = found.plan
    repeats = f"{plan.repeats} repeats of {plan.seconds:g} s"
    yield f"{found.problem}: {found.subject}, P = {plan.ranks}, {repeats}"
    yield about
    yield UNITS
    for delay in plan.delays:
        yield _heading(found, delay)
        yield "     s         us              predicted   error   speed-up           predicted"
        for row in rows(found):
            if row["delay"] == delay.microseconds:
                yield _line(row, delay)
    yield from conclusion(found)


def conclusion(found: Study) -> Iterator[str]:
    """Best s and speed-up at every delay, and how far predictions were off."""
    yield "best s of each delay, over the classical method:"
    for delay in found.plan.delays:
        best, guess = found.best(delay), found.predicted_best(delay)
        low, gain, high = found.speedup(best, delay)
        yield (
            f"  {delay.microseconds:6g} us: s = {best}, {gain:.1f}x [{low:.1f}, {high:.1f}]; predicted "
            f"s = {guess}, {found.predicted_speedup(guess, delay):.1f}x"
        )
    errors = sorted(abs(found.error(s, d)) for s, d in found.cells if d != Delay())
    if errors:
        yield (
            f"predictions from runs without a delay: error {quartiles(errors)[1]:.1%} (median of "
            f"{len(errors)} cells), {errors[-1]:.1%} (largest), {sum(e <= 0.25 for e in errors)} of "
            f"{len(errors)} within 25 %"
        )


def document(found: Study, about: dict[str, Any]) -> dict[str, Any]:
    """The study as plain values; times in microseconds."""
    plan = found.plan
    return {
        "format": "sstep-verify latency 1", "problem": found.problem, "subject": found.subject, **about,
        "ranks": plan.ranks, "levels": levels(plan.ranks), "repeats": plan.repeats, "seconds": plan.seconds,
        "per byte": plan.delays[-1].per_byte, "units": "microseconds of an iteration",
        "collective alone": [
            {"delay": delay.microseconds, "microseconds": [1e6 * value for value in found.lone[delay]]}
            for delay in plan.delays
        ],
        "cells": list(rows(found)), "conclusion": list(conclusion(found)),
    }  # fmt: skip


def table(found: Study) -> str:
    """All cells as CSV."""
    return csv_text(COLUMNS, (row.values() for row in rows(found)))


def figure(found: Study) -> str:
    """Speed-up over the classical method against s, a curve for each delay, as an SVG file."""
    steps = found.plan.s
    series = [
        AgainstS(
            f"{delay.microseconds:g} us", steps, [found.speedup(s, delay)[1] for s in steps],
            [found.predicted_speedup(s, delay) for s in steps],
        )
        for delay in found.plan.delays
    ]  # fmt: skip
    title = f"{found.problem}, P = {found.plan.ranks} (dashed: predicted)"
    return standalone(draw_against_s(title, "speed-up over s = 1", series))


def write(found: Study, folder: Path, about: dict[str, Any], told: list[str]) -> None:
    """Write text, JSON, CSV and figure into a folder, which is whole or not there."""
    from sstep_verify.laboratory.telling import as_json

    with whole_folder(folder) as partial:
        write_text(partial / "latency.txt", "\n".join(told) + "\n")
        write_text(partial / "latency.json", as_json(document(found, about)))
        write_text(partial / "latency.csv", table(found))
        write_text(partial / "latency.svg", figure(found))


def _heading(found: Study, delay: Delay) -> str:
    real = 1e6 * found.lone[delay][1]
    rest = "" if delay == Delay() else f", so {1e6 * found.given(delay):.0f} us late"
    return f"delay {delay.microseconds:g} us a level: a collective alone takes {real:.1f} us{rest}"


def _line(row: dict[str, Any], delay: Delay) -> str:
    spread = f"[{row['lower quartile']:.1f}, {row['upper quartile']:.1f}]"
    gains = f"[{row['speed-up, lower quartile']:.1f}, {row['speed-up, upper quartile']:.1f}]"
    guessed, error = f"{row['predicted']:.1f}", f"{row['error']:+.0%}"
    if delay == Delay():
        guessed, error = "-", "-"
    return (
        f"{row['s']:6d}{row['measured']:11.1f} {spread:<19}{guessed:>7}{error:>8}{row['speed-up']:9.2f}x "
        f"{gains:<13}{row['predicted speed-up']:7.2f}x"
    )
