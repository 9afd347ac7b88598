"""Lines that `sstep-verify solve` prints of sizes, the block, kept rows, and iterations of every s.

Nothing is measured for them, so each has one right form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.adapters.written import ALL_ROWS
from sstep_verify.errors import ConductError, counted
from sstep_verify.problems import Problem
from sstep_verify.solver.settings import OR
from sstep_verify.solver.training.schedule import Segment

SHARES = re.compile(
    r"^iterations by s, the most: (.+); in (\d+) segments, kept in the result$", re.MULTILINE
)
"""How many iterations were made with which s and exchange."""

MOST = 3
"""Of them are printed, those with most iterations."""


def features_read(data: Any) -> int:
    """Features of a file of samples: the largest index that has a value."""
    matrix = sp.csr_array(data)
    return int(np.max(matrix.indices[matrix.data != 0], initial=-1)) + 1


def require_printed(problem: Problem, features: int, options: Mapping[str, Any], said: str) -> None:
    """ConductError where a line is lacking: of sizes, of the block (K-RR), of the exchange and kept rows.

    The name of the problem is that which the command has; `options` are those of its result.
    """
    samples, cache = problem.samples, options["cache"]
    sizes = f"{counted(samples, 'sample')}, {counted(features, 'feature')}"
    kept = "; all kernel rows kept" if cache == ALL_ROWS else ""
    if not kept and cache:
        kept = f"; {counted(min(cache // samples, samples), 'kernel row')} kept"
    lines = [
        f"{problem.label}: {sizes}, {counted(options['ranks'], 'rank')}\n",
        f"exchange {options['exchange'].split(OR)[0]}{kept}: ",
    ]
    lines += [] if problem.is_svm else [f"block {options['block']}: "]
    for line in lines:
        if not re.search(rf"^{re.escape(line)}", said, re.MULTILINE):
            raise ConductError(f"the command does not print the line {line.strip()!r}: {said[:300]}")


def require_printed_windows(sequence: Sequence[Segment], said: str) -> None:
    """ConductError where the printed iterations of every s are not those of the segments in the result."""
    due: Counter[str] = Counter()
    begin = 0
    for segment in sequence:
        due[f"s = {segment.s} {segment.exchange}"] += segment.end - begin
        begin = segment.end
    if not due:
        return
    found = SHARES.search(said)
    shown = [part.rpartition(" ") for part in found[1].split(", ")] if found else []
    counts = [int(count) for _, _, count in shown]
    right = all(due[name] == int(count) for name, _, count in shown)
    if found is None or not right or counts != [count for _, count in due.most_common(MOST)]:
        raise ConductError(
            f"the result has iterations by s {dict(due.most_common(MOST))}, and printed are "
            f"{found and found[1]}"
        )
    if int(found[2]) != len(sequence):
        raise ConductError(f"the result has {len(sequence)} segments, and printed are {found[2]}")
