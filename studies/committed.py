"""Keep of a report what the repository holds: answer, figures, small tables, and how it was made.

``python -m studies.committed REPORT reports/NAME`` reads a whole report, which a campaign wrote, and writes
a short one. The whole report is not committed: the command in ``made.json`` makes it again, and the digest
there identifies the one that was read.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.files import whole_folder
from sstep_verify.report.results import STUDIED, Results, loads, part_of


@dataclass(frozen=True)
class Kept:
    """Files of a report that are committed: figures with what each shows, and tables."""

    figures: dict[str, str]
    tables: tuple[str, ...]


KEPT = {
    "certified": Kept({}, ("certified.csv",)),
    "false-alarms": Kept({}, ("coverage.csv", "coverage.md", "tightness.csv", "variants.csv")),
    "scaling": Kept(
        {
            f"scaling-{name}.svg": f"Predicted time per iteration over the number of ranks, {name}"
            for name in ("colon-cancer", "duke", "news20.binary", "synthetic")
        },
        ("claims.csv", "scaling.csv"),
    ),
    "sensitivity": Kept(
        {},
        (
            "corpus.csv", "doses.csv", "kills.csv", "limits.csv", "method-limits.csv", "methods.md",
            "methods-on-corpus.csv", "tightness.csv", "variants.csv",
        ),
    ),
    "stability": Kept(
        {
            "stability-error.svg": "Error over s: that of s-step stays at that of the classical method",
            "loss-overview.svg": "Accuracy loss over s and condition, median and largest",
            "frontier.svg": "Largest safe s against u times condition",
        },
        ("stability-safe.csv", "stability-worse.csv"),
    ),
}  # fmt: skip
"""What is committed of each campaign."""

ANSWER, MADE, RESULTS = "answer.md", "made.json", "results.json"


def sentences(results: Results) -> list[str]:
    """Sentences of the part that a study added, or else the one sentence of the summary."""
    parts = (getattr(results, name) for name in STUDIED)
    return [line for part in parts for line in getattr(part, "sentences", ())] or [results.summary.sentence]


def _item(name: str, parts: Sequence[str]) -> list[str]:
    """A row of an answer as an item of a list: its only part, or a list of them."""
    if len(parts) == 1:
        return [f"- {name}: {parts[0]}."]
    return [f"- {name}:", *(f"  - {part}." for part in parts)]


def first(results: Results) -> list[str]:
    """The answer of the first screen, where a study gives one: its sentence, and a line for each row."""
    parts = [part_of(name) for name in results.studies]
    said = [one for part in parts if hasattr(part, "said") and (one := part.said(results))]
    return [
        line
        for one in said
        for line in (
            f"**{one.headline}**",
            "",
            *(line for row in one.rows for line in _item(row.name, row.parts)),
        )
    ]


def made(results: Results, whole: bytes) -> dict[str, Any]:
    """How a report was made: its provenance, its parameters and its outcome, and what its results are.

    Parameters
    ----------
    results : Results
        The whole report.
    whole : bytes
        Its file, of which the digest is stated.

    Returns
    -------
    dict
        Plain values, in the order in which a reader asks for them.
    """
    summary = results.summary
    return {
        "campaign": results.campaign.name,
        "sentences": sentences(results),
        "exit_code": summary.exit_code,
        "seconds": summary.seconds,
        "peak_memory_bytes": summary.peak_memory_bytes,
        "parameters": results.campaign.parameters,
        **results.provenance,
        "results": {"sha256": hashlib.sha256(whole).hexdigest(), "bytes": len(whole)},
    }


def answer(results: Results, kept: Kept) -> str:
    """The answer of a report in Markdown: its sentences, its figures, its notes."""
    campaign = results.campaign
    said, told = first(results), [f"- {line}" for line in sentences(results)]
    about = campaign.description.split("\n")
    lines = [f"# {campaign.title}", "", *(said or [*about, "", "## Answer", "", *told])]
    for name, shows in kept.figures.items():
        lines += ["", f"![{shows}](figures/{name})"]
    if said:
        lines += ["", "## What was run", "", *about, "", "## In words", "", *told]
    if campaign.notes:
        lines += ["", "## Notes", "", *(f"- {line}" for line in campaign.notes)]
    tables = ", ".join(f"[`{name}`](tables/{name})" for name in kept.tables)
    lines += ["", "## Tables", "", tables]
    lines += ["", f"How it was made: [`{MADE}`]({MADE})."]
    return "\n".join(lines) + "\n"


def keep(report: Path, target: Path) -> None:
    """Write the short report of a whole one into a new folder, or in place of a short one.

    Raises
    ------
    InputError
        If the report is of a campaign of which nothing is committed.
    """
    whole = (report / RESULTS).read_bytes()
    results = loads(whole, str(report / RESULTS))
    name = results.campaign.name
    if name not in KEPT:
        raise InputError(f"{report}: campaign {name!r} is not committed (committed: {', '.join(KEPT)})")
    kept = KEPT[name]
    with whole_folder(target) as folder:
        for kind, names in (("figures", kept.figures), ("tables", kept.tables)):
            for one in names:
                (folder / kind).mkdir(exist_ok=True)
                shutil.copyfile(report / kind / one, folder / kind / one)
        (folder / ANSWER).write_text(answer(results, kept), "utf-8")
        (folder / MADE).write_text(json.dumps(made(results, whole), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
