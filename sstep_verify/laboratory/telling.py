"""What every report of the laboratory tells: machine, MPI, load; plain values as JSON."""

from __future__ import annotations

import json
import os
from typing import Any

from sstep_verify.provenance import collect


def about(mpi: str, command: list[str]) -> dict[str, Any]:
    """Machine, MPI and versions."""
    made = collect(command)
    chosen = ("package", "git", "python", "packages", "blas", "machine", "date", "command")
    return {"mpi": mpi, "load": list(os.getloadavg())} | {name: made[name] for name in chosen}


def in_words(known: dict[str, Any], ranks: int) -> str:
    """Machine and MPI in one line."""
    machine = known["machine"]
    cores = machine["usable_cores"] or machine["cores"]
    crowded = ", which take turns" if ranks > (cores or ranks) else ""
    return (
        f"{machine['cpu']}, {cores} usable cores for {ranks} ranks{crowded}; load {known['load'][0]:.1f} "
        f"at the beginning; {' '.join(known['mpi'].split())}"
    )


def as_json(document: dict[str, Any]) -> str:
    """One JSON object; what is not finite is null."""
    from sstep_verify.reporting.plain import plain

    return json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
