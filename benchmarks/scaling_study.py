"""Predicted strong scaling up to 4,096 ranks, and the paper's claims beside it, as two tables.

Usage: ``python benchmarks/scaling_study.py --data DIR [--machine FILE]``; nothing is timed.
"""

from __future__ import annotations

import argparse

from sstep_verify.costs.model.machine import read
from sstep_verify.costs.model.profiles import published_profiles
from sstep_verify.costs.model.scaling import claims, paper_profiles, scaling


def show(rows: list[dict[str, str | int | float]]) -> None:
    print("| " + " | ".join(rows[0]) + " |")
    print("|---" * len(rows[0]) + "|")
    for row in rows:
        shown = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
        print("| " + " | ".join(shown) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of news20.binary's column counts")
    parser.add_argument(
        "--machine", default="perlmutter", help="machine file fitted to the published programs"
    )
    given = parser.parse_args()
    machine, profiles = read(given.machine), paper_profiles(published_profiles(given.data))
    print(f"{machine.name}: predictions are off by {machine.error}\n")
    show([claim._asdict() for claim in claims(machine, profiles)])
    print()
    show(scaling(machine, profiles))


if __name__ == "__main__":
    main()
