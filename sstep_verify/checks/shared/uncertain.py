"""What a bound may mostly be made of that no rounding of the run makes: declared, stored or written so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import LIBRARY_ULPS

MOST = "most of the bound"
"""Key of the evidence that holds what is uncertain in more than half of a bound, in words."""

ENTRIES = "step-replay", "window-replay", "trajectory", "sstep-equals-classical", "kernel-entries", "phases"
"""Checks whose bounds rest on those on kernel entries."""

ROWS = 8
"""Kernel rows that are looked at."""


def mostly_uncertain(check: str, case: Case) -> list[str]:
    """What makes more than half of the error that a solver's kernel entries may have, in words.

    A share is what the bound on the first drawn rows loses without it, of their sum over all entries.
    """
    if check not in ENTRIES:
        return []
    return [words for words, share in _shares(case) if share > 0.5]


def _shares(case: Case) -> Iterator[tuple[str, float]]:
    declared = case.declaration
    changes: dict[str, dict[str, object]] = {}
    if declared.function_ulps > LIBRARY_ULPS:
        told = f"function_ulps = {declared.function_ulps:g}, as declared"
        changes[told] = {"function_ulps": LIBRARY_ULPS}
    if declared.data_rounding and declared.precision == "float32":
        changes["the rounding of its input to float32 (data_rounding)"] = {"data_rounding": False}
    if not changes:
        return
    rows = np.unique(case.stream.blocks(0, min(ROWS, case.stream.length)))[:ROWS]
    whole = kernel_entries(case.problem, declared, rows).solver
    for told, change in changes.items():
        without = kernel_entries(case.problem, replace(declared, **change), rows).solver  # type: ignore[arg-type]
        finite = np.isfinite(whole) & np.isfinite(without)
        total = float(whole[finite].sum())
        yield told, 1.0 - float(without[finite].sum()) / total if total else 0.0
