"""What an autopsy says: lines, a plain sentence, plain values, CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

from sstep_verify.laboratory.autopsy import NOT_LATE, PROGRAM, Autopsy
from sstep_verify.laboratory.factors import Factors
from sstep_verify.laboratory.samples import quartiles
from sstep_verify.outputs import csv_text, whole_folder, write_text

WIDTH = 110
NAMES = tuple(item.name for item in fields(Factors))


def lines(found: Autopsy, about: str) -> Iterator[str]:
    """The autopsy for a terminal."""
    plan = found.plan
    alone = 1e6 * quartiles(list(found.lone))[1]
    yield (
        f"{found.problem}: {found.subject}; P = {plan.ranks}, every collective "
        f"{plan.delay.microseconds:g} us a level late ({alone:.1f} us without), {plan.repeats} repeats"
    )
    yield about
    yield "microseconds of an iteration, median [quartiles]:    one rank, no message          P ranks, late"
    for name, key in _named(found):
        yield f"  {name:<44}{_time(found, (*key, 1)):>26}{_time(found, (*key, plan.ranks)):>27}"
    for who, s, ranks in found.cells:
        if who.endswith(NOT_LATE):
            name = who.replace(PROGRAM, "its own") + ": classical"
            yield f"  {name:<44}{_time(found, (who, s, ranks)):>53}"
    yield "     s   speed-up  =  weak x panel x messages   (messages first: panel x messages)   over strong"
    for s in plan.s:
        if s > 1:
            yield _row(s, found.factors(s))
    yield from textwrap.wrap(sentence(found), WIDTH)


def sentence(found: Autopsy) -> str:
    """What the speed-up at the best s is made of, in plain words."""
    s = found.best
    one, all_ = found.factors(s), found.spread(s)
    product = "better" if one.panel >= 1.0 else "worse"

    def told(name: str) -> str:
        low, _, high = quartiles([getattr(each, name) for each in all_])
        return f"{getattr(one, name):.2f} [{low:.2f}, {high:.2f}]"

    return (
        f"Of the {one.total:.1f}-fold speed-up at s = {s} (P = {found.plan.ranks}, "
        f"{found.plan.delay.microseconds:g} us), a factor {told('weak')} is a weak baseline; "
        f"{told('panel')} is a {product} panel product, which one rank without a message has as well; "
        f"{told('messages')} is left for fewer messages ({told('messages_first')} if these are counted "
        f"first, and then {told('panel_last')} for the product). Over the strong classical baseline it is "
        f"{told('over_strong')}. Factors are of the median times, and multiply; in brackets are the "
        "quartiles of the same factors in every repeat, between which they need not lie."
    )


def document(found: Autopsy, about: dict[str, Any]) -> dict[str, Any]:
    """The autopsy as plain values; times in microseconds."""
    plan = found.plan
    return {
        "format": "sstep-verify autopsy 1", "problem": found.problem, "subject": found.subject, **about,
        "ranks": plan.ranks, "delay": plan.delay.microseconds, "per byte": plan.delay.per_byte,
        "repeats": plan.repeats, "seconds": plan.seconds, "units": "microseconds of an iteration",
        "collective alone": [1e6 * value for value in found.lone],
        "strong": {"one rank": found.strongest(1), "P ranks": found.strongest(plan.ranks)},
        "cells": [
            {"who": who, "s": s, "ranks": ranks,
             "microseconds": [1e6 * value for value in cell.all_seconds],
             "collectives": cell.collectives, "words": cell.words}
            for (who, s, ranks), cell in found.cells.items()
        ],
        "factors": [
            {"s": s, **asdict(found.factors(s)), "repeats": [asdict(one) for one in found.spread(s)]}
            for s in plan.s if s > 1
        ],
        "sentence": sentence(found),
    }  # fmt: skip


def table(found: Autopsy) -> str:
    """The factors of every s as CSV."""
    return csv_text(("s", *NAMES), ((s, *astuple(found.factors(s))) for s in found.plan.s if s > 1))


def write(found: Autopsy, folder: Path, about: dict[str, Any], told: list[str]) -> None:
    """Write text, JSON and CSV into a folder, which is whole or not there."""
    from sstep_verify.laboratory.telling import as_json

    with whole_folder(folder) as partial:
        write_text(partial / "autopsy.txt", "\n".join(told) + "\n")
        write_text(partial / "autopsy.json", as_json(document(found, about)))
        write_text(partial / "autopsy.csv", table(found))


def _named(found: Autopsy) -> Iterator[tuple[str, tuple[str, int]]]:
    """Cells in the order of the table, with their names."""
    strong = {who: where for where, who in (("P ranks", found.strongest(found.plan.ranks)),)}
    alone = found.strongest(1)
    strong[alone] = "both" if alone in strong else "one rank"
    for who in dict.fromkeys(key[0] for key in found.cells if not key[0].endswith(NOT_LATE)):
        mark = f" (strong: {strong[who]})" if who in strong else ""
        if who != PROGRAM:
            yield f"our classical, {who}{mark}", (who, 1)
            continue
        for s in found.plan.s:
            yield (f"its own classical{mark}" if s == 1 else f"s = {s}"), (PROGRAM, s)


def _time(found: Autopsy, key: tuple[str, int, int]) -> str:
    low, middle, high = (1e6 * value for value in quartiles(found.cells[key].all_seconds))
    return f"{middle:.1f} [{low:.1f}, {high:.1f}]"


def _row(s: int, one: Factors) -> str:
    return (
        f"{s:6d}{one.total:10.2f}{one.weak:10.2f}{one.panel:8.2f}{one.messages:11.2f}"
        f"{one.panel_last:26.2f}{one.messages_first:11.2f}{one.over_strong:14.2f}"
    )
