"""Write what campaign sensitivity measured: ``python -m studies.power RESULTS_JSON``.

``python -m studies.power`` alone fails where what stands there is not of this version (``tox -e release``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from sstep_verify.power import FILE, NOT_MEASURED, Measured, deciding_digest, measured

if TYPE_CHECKING:
    from sstep_verify.report.results import Results

DIGEST, CAMPAIGNS = "modules that decide", "campaigns judged"
"""Parameters of a campaign of power: digest of what was measured, campaigns that judged its corpus."""


@cache
def campaigns_judged() -> tuple[str, ...]:
    """Campaigns by which the solvers of the corpus are judged."""
    from studies.corpus.listing import corpus

    return tuple(sorted({one.campaign for one in corpus().values()}))


def measured_by(results: Results) -> Measured:
    """What a document that measures power holds."""
    told, found = results.campaign.parameters, results.sensitivity
    if found is None or found.corpus is None or DIGEST not in told:
        raise SystemExit(
            f"{results.campaign.name}: measures no power; run python -m sstep_verify run sensitivity"
        )
    git: Any = results.provenance.get("git", {})
    campaigns: Any = told[CAMPAIGNS]
    return Measured(
        next(iter(found.sentences)),
        git.get("commit", "") if isinstance(git, Mapping) else "",
        tuple(campaigns),
        str(told[DIGEST]),
    )


def main(path: str = "") -> None:
    """Write what a results document measured; without one, fail unless this version was measured."""
    from sstep_verify.outputs.writing import write_text
    from sstep_verify.report import load
    from sstep_verify.report.plain import plain

    if path:
        write_text(FILE, json.dumps(plain(measured_by(load(path))), indent=1) + "\n")
    elif deciding_digest() != measured().digest:
        raise SystemExit(
            f"{NOT_MEASURED}: run python -m sstep_verify run sensitivity, then this with its results.json"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
