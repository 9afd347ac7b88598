"""What every report of a study tells: machine, MPI, load; text, JSON and what else it has, in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sstep_verify.outputs import whole_folder, write_text
from sstep_verify.provenance import collect


def about(mpi: str, command: list[str]) -> dict[str, Any]:
    """Machine, MPI and versions."""
    facts = collect(command)
    chosen = ("package", "git", "python", "packages", "blas", "machine", "date", "command")
    return {"mpi": mpi, "load": list(os.getloadavg())} | {name: facts[name] for name in chosen}


def in_words(known: dict[str, Any], ranks: int) -> str:
    """Machine and MPI in one line."""
    machine = known["machine"]
    cores = machine["usable_cores"] or machine["cores"]
    crowded = ", which take turns" if ranks > (cores or ranks) else ""
    return (
        f"{machine['cpu']}, {cores} usable cores for {ranks} ranks{crowded}; load {known['load'][0]:.1f} "
        f"at the beginning; {' '.join(known['mpi'].split())}"
    )


def spread(values: list[float] | tuple[float, ...], digits: int = 2) -> str:
    """Median and quartiles: ``m [l, h]`` of (l, m, h)."""
    low, middle, high = (f"{value:.{digits}f}" for value in values)
    return f"{middle} [{low}, {high}]"


def write(
    folder: Path, name: str, lines: list[str], document: dict[str, Any], more: dict[str, str]
) -> None:
    """Write text, JSON (not finite: null) and more by suffix into a folder, which is whole or not there."""
    from sstep_verify.report.plain import plain

    content = json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False)
    with whole_folder(folder) as partial:
        for suffix, text in {"txt": "\n".join(lines) + "\n", "json": content + "\n", **more}.items():
            write_text(partial / f"{name}.{suffix}", text)
