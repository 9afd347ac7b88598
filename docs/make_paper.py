"""Write docs/paper.md from the claims of docs/paper-claims.toml and the table of campaign scaling.

Usage: ``python docs/make_paper.py``, or with ``--check`` to say whether the page is up to date. With
``--latex`` it prints the tables as a LaTeX document instead, for a reply to a referee.
"""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from generated import line, write_or_compare

DOCS = Path(__file__).parent
PAGE = DOCS / "paper.md"
PREDICTED = DOCS.parent / "reports" / "scaling" / "tables" / "claims.csv"
KERNELS = {"linear": "linear", "polynomial": "polynomial", "rbf": "RBF"}
VERDICTS = {
    "supported": "supported",
    "not supported": "**not supported**",
    "not reproducible": "not reproducible",
    "erratum": "erratum",
    "not examined": "not examined",
}


class Row(NamedTuple):
    """A line of the page: where the claim is, what it says, verdict, figures, and what shows them."""

    where: str
    says: str
    verdict: str
    paper: str
    here: str
    shown: str
    evidence: tuple[str, ...]
    errata: tuple[int, ...]


def given() -> dict[str, Any]:
    """The file of claims."""
    return tomllib.loads((DOCS / "paper-claims.toml").read_text(encoding="utf-8"))


def predicted() -> list[dict[str, str]]:
    """The claims on time, with predictions and published timings, as the report has them."""
    with PREDICTED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_of(claim: dict[str, Any]) -> Iterator[Row]:
    """The lines of a claim: one, or one for each row of the report that it selects."""
    items = [item for item in claim.get("items", ()) if item not in claim["where"]]
    where = "; ".join((claim["where"], *items))
    proof = claim.get("shown", ""), tuple(claim.get("evidence", ())), tuple(claim.get("errata", ()))
    if "rows" not in claim:
        yield Row(where, claim["says"], claim["verdict"], claim.get("paper", ""), claim["here"], *proof)
        return
    for found in predicted():
        if claim["rows"].items() <= found.items():
            here = f"predicted {found['predicted']}"
            here += f"; timed {found['timed']}" if found["timed"] else f"; {found['reason']}"
            command = f"python -m sstep_verify run scaling --only {found['case']}"
            yield Row(where, _said(found), found["mark"], found["stated"], here, command, *proof[1:])


def _said(found: dict[str, str]) -> str:
    task = "K-RR" if found["task"] == "krr" else "K-SVM"
    block = f", b = {found['block']}" if found["task"] == "krr" else ""
    return f"{found['dataset']}, {task}, {KERNELS[found['kernel']]}{block}: {found['text']}"


def page() -> str:
    """The whole page: prose, count of verdicts, a table for each section of the paper."""
    claims = given()
    tables, count = [], Counter[str]()
    for section in claims["section"]:
        rows = [row for claim in section["claim"] for row in rows_of(claim)]
        count.update(row.verdict for row in rows)
        tables.append(f"### {section['title']}\n")
        tables.append(
            "| where | claim | verdict | in the paper | here | shown by |\n|---|---|---|---|---|---|"
        )
        tables.append("\n".join(map(_line, rows)) + "\n")
    counted = "| verdict | claims |\n|---|---|\n" + "\n".join(
        f"| {shown} | {count[verdict]} |" for verdict, shown in VERDICTS.items()
    )
    head = claims["head"].replace("{version}", claims["version"]).replace("{count}", counted)
    return "\n".join((head, *tables)) + claims["tail"]


def _line(row: Row) -> str:
    links = [f"[{Path(link.partition('#')[0]).name}]({link})" for link in row.evidence]
    links += [f"[erratum {number}](../reference/ERRATA.md)" for number in row.errata]
    shown = ([f"`{row.shown}`"] if row.shown else []) + links
    return line(row.where, row.says, VERDICTS[row.verdict], row.paper, row.here, "; ".join(shown))


LATEX = r"""\documentclass[a4paper,landscape,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[margin=15mm]{geometry}
\usepackage{longtable}
\setlength{\tabcolsep}{3pt}
\begin{document}
\footnotesize\raggedright
\section*{The paper, claim by claim}
Claims of Shao and Devarakonda, \emph{Scalable Dual Coordinate Descent for Kernel Methods}, VERSION.
The rules of the verdicts and the links are in \texttt{docs/paper.md}.
"""
COLUMNS = {"Where": 24, "Claim": 62, "Verdict": 25, "In the paper": 25, "Here": 65, "Shown by": 48}
"""Columns of the LaTeX tables, with their widths in millimetres."""

ESCAPES = {one: "\\" + one for one in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
}  # fmt: skip
BREAKS = frozenset("/_.-=:,")
"""Characters of a command after which a line may end."""


def latex(text: str) -> str:
    """A cell in LaTeX: Markdown's code and bold text as commands, everything else as it is printed."""
    parts = re.split(r"(`[^`]*`|\*\*[^*]*\*\*)", text)
    return "".join(
        rf"\texttt{{{_escaped(part[1:-1], BREAKS)}}}" if part.startswith("`")
        else rf"\textbf{{{_escaped(part[2:-2])}}}" if part.startswith("**")
        else _escaped(part)
        for part in parts
    )  # fmt: skip


def _escaped(text: str, breaks: frozenset[str] = frozenset()) -> str:
    return "".join(ESCAPES.get(one, one) + r"\allowbreak{}" * (one in breaks) for one in text)


def latex_document() -> str:
    """All tables as one LaTeX document that needs no other file."""
    claims = given()
    widths = "".join(rf"p{{{width}mm}}" for width in COLUMNS.values())
    head = " & ".join(rf"\textbf{{{name}}}" for name in COLUMNS) + r" \\ \hline \endhead"
    lines = [LATEX.replace("VERSION", claims["version"])]
    for section in claims["section"]:
        lines += [rf"\subsection*{{{latex(section['title'])}}}", rf"\begin{{longtable}}{{{widths}}}", head]
        for row in (row for claim in section["claim"] for row in rows_of(claim)):
            shown = [f"`{row.shown}`"] * bool(row.shown) + [f"erratum {number}" for number in row.errata]
            cells = row.where, row.says, VERDICTS[row.verdict], row.paper, row.here, "; ".join(shown)
            lines.append(" & ".join(map(latex, cells)) + r" \\")
        lines.append(r"\end{longtable}")
    return "\n".join([*lines, r"\end{document}", ""])


if __name__ == "__main__" and "--latex" in sys.argv[1:]:
    sys.stdout.write(latex_document())
elif __name__ == "__main__":
    write_or_compare(PAGE, page(), "the claims say")
