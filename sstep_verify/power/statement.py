"""The power statement: what the committed campaign measured of the checks, printed by every run.

It stands in ``measured.txt``, beside this module, since an installed package has no reports. After campaign
sensitivity was run anew, ``python -m sstep_verify.power.statement RESULTS_JSON`` writes it.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import resources
from pathlib import Path

FILE = "measured.txt"


@cache
def power_statement() -> str:
    """One sentence: mistakes found, limits, false alarms."""
    return (resources.files("sstep_verify.power") / FILE).read_text("utf-8").strip()


def main(results: str) -> None:
    """Write the statement of a results document."""
    from sstep_verify.outputs.writing import write_text
    from sstep_verify.reporting import load

    found = load(results).sensitivity
    if found is None:
        raise SystemExit(f"{results}: measures no power; run sstep-verify sensitivity")
    write_text(Path(__file__).with_name(FILE), "; ".join(found.sentences) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
