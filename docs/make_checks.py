"""Write the two tables of docs/checks.md from what the checks declare of themselves.

Usage: ``python docs/make_checks.py``, or with ``--check`` to say whether the page is up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

from generated import line, write_or_compare

from sstep_verify.checks.registry import CHECKS
from sstep_verify.specification import Sentence, specification

PAGE = Path(__file__).with_name("checks.md")

MADE = re.compile(r"(?<=<!-- made by docs/make_checks.py -->\n\n).*?(?=\n<!-- end by)", re.DOTALL)
"""A table of the page."""

BLIND = {
    "contract": "a faulty step; what an adapter filled in because the solver states none of it, such as s",
    "step-replay": "an error below the detection limits it prints; whether windows of s were made; "
    "the index stream of a run that logs its own draws",
    "window-replay": "a window that was not examined; an error that only later runs show, if the solver "
    "gives its final alpha only",
    "trajectory": "what happens after its short run; small errors, since its bound grows with H",
    "sstep-equals-classical": "a defect that both runs share",
    "metamorphic-exact": "an absolute constant on the gradient of a K-SVM; an error that scales as data do",
    "kernel-entries": "entries of windows other than the first and the last; a kernel that is used but "
    "not exposed",
    "box": "a faulty value inside the box",
    "determinism": "an error that is the same in every run",
    "optimum": "faulty steps of a run that still converges; a run that claims nothing",
    "claim-honesty": "an error in a value that the run does not report",
    "residual-gap": "an error of alpha itself",
    "rank-coherence": "an error that all ranks share",
    "message-count": "a false content of a message; false counts, where only the solver counts",
}
"""What each check leaves to others."""


def page() -> str:
    """The whole page."""
    if BLIND.keys() != CHECKS.keys():
        raise SystemExit(
            f"docs/make_checks.py: BLIND is not of these checks: {sorted(BLIND.keys() ^ CHECKS)}"
        )
    tables = iter((_all_checks(), _requirements()))
    return MADE.sub(lambda match: next(tables), PAGE.read_text("utf-8"))


def _all_checks() -> str:
    head = "| check and claim | needs | must detect | cannot detect |\n|---|---|---|---|\n"
    return head + "".join(
        line(f"`{one.id}`: {_claim(one.claim)}", one.needs, one.planted, BLIND[one.id]) + "\n"
        for one in CHECKS.values()
    )


def _requirements() -> str:
    head = "| check | requirements of the [specification](spec.md) |\n|---|---|\n"
    decided = {name: [one for one in specification().sentences if name in one.checks] for name in CHECKS}
    return head + "".join(
        f"{line(f'`{name}`', _ranges([one.number for one in found]) + _limits(found))}\n"
        for name, found in decided.items()
    )


def _limits(found: list[Sentence]) -> str:
    """Where only those are decided that are not always."""
    return "".join(f"; {one.number}{one.limit}" for one in found if one.where)


def _ranges(numbers: list[str]) -> str:
    """Numbers such as S-1.2 in order, runs of three and more as ``S-1.2 to S-1.5``."""
    runs: list[list[str]] = []
    for number in numbers:
        group, _, place = number.rpartition(".")
        if runs and runs[-1][-1] == f"{group}.{int(place) - 1}":
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _claim(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


if __name__ == "__main__":
    write_or_compare(PAGE, page(), "the checks say")
