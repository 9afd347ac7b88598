"""Time per iteration of the paper's published programs, by phase, on a machine like theirs.

In microseconds, with c = s b rows a window, bytes V = 8 c m, R = min(P, cores of a node) ranks a node and
pressure M = R / cores * R V / (R V + L3): buffers of a node's ranks share its last-level cache and memory.

    panel of a rank   (transpose * nonzeros + rows m + call) / s + b (pair * pairs + (out + out_memory M) m)
                      The sparse product transposes the rank's matrix in every call; a nonzero costs
                      `miss` more where the matrix and its columns outgrow the caches.
    function          b m per entry, polynomial and RBF
    waiting           panel of the rank with most columns' nonzeros, less rank 0's
    start             reading scans all features of a rank for each nonzero; ranks leave it at different
                      times, which the first reduction of H iterations waits for
    latency           (small P^1/4 + medium P^1/2 V / (V + V0 + V^2 / V1)) / s
    transfer          8 b m (byte R^growth + byte_memory M)
    steps             b m (gradient + gradient_memory M) + the same of clearing buffers + b c solve + step

Timers are rank 0's: its "allreduce" holds waiting and start. Exponents 1/4 and 1/2 and the size of the
cache are set, not fitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.costs.profiles import Profile

Array = np.ndarray[Any, Any]

CORES, CACHE = 128, 256e6
"""Cores of a node; bytes of last-level cache (one socket's) against which buffers are held."""

START: dict[str, float] = {
    "transpose": 4.2e-3, "miss": 4e-3, "rows": 1e-4, "call": 10.0, "pair": 0.5e-3, "out": 0.5e-3,
    "out_memory": 4e-3, "polynomial": 1.7e-3, "rbf": 8e-3, "start": 8e-12, "small": 2.0, "medium": 100.0,
    "rising": 8e3, "falling": 2e5, "byte": 0.6e-3, "growth": 0.35, "byte_memory": 3e-3, "gradient": 1e-3,
    "gradient_memory": 7e-3, "clear": 0.3e-3, "clear_memory": 3e-3, "solve": 0.03, "step": 1.2,
}  # fmt: skip
"""Parameters, all positive and shared by all data sets, and where the fit of them begins."""


class Runs(NamedTuple):
    """Sizes of runs, equal arrays: kernel (linear, polynomial or rbf), b, P, s, H, m, n, nonzeros.

    With s = 1 it is the classical program; the last four are as in `profiles.Shares`.
    """

    kernel: Array
    block: Array
    ranks: Array
    s: Array
    iterations: Array
    samples: Array
    features: Array
    nonzeros: Array
    first: Array
    most: Array
    first_pairs: Array
    most_pairs: Array


def runs_of(rows: Iterable[tuple[Profile, str, int, int, int, int]]) -> Runs:
    """Runs of tuples (profile, kernel, b, P, s, H)."""
    kernels, numbers = [], []
    for profile, kernel, block, ranks, s, iterations in rows:
        kernels.append(kernel)
        sizes = (block, ranks, s, iterations, profile.samples, profile.features, profile.nonzeros)
        numbers.append((*sizes, *profile.shares(ranks)))
    return Runs(np.array(kernels), *np.array(numbers, dtype=np.float64).T)


class Times(NamedTuple):
    """Microseconds per iteration by phase; rank 0's panel and function, what it waits for, and so on."""

    panel: Array
    function: Array
    waiting: Array
    start: Array
    latency: Array
    transfer: Array
    steps: Array

    @property
    def total(self) -> Array:
        """Their sum."""
        return np.asarray(sum(self))


def network(parameters: dict[str, float], ranks: Any, volume: Any) -> tuple[Array, Array]:
    """Latency, and transfer, of one allreduce of so many bytes, in microseconds."""
    own = parameters
    hump = volume / (volume + own["rising"] + volume * volume / own["falling"])
    latency = own["small"] * ranks**0.25 + own["medium"] * ranks**0.5 * hump
    local = np.minimum(ranks, CORES)
    transfer = volume * (
        own["byte"] * local ** own["growth"] + own["byte_memory"] * pressure(ranks, volume)
    )
    return np.asarray(latency), np.asarray(transfer)


def pressure(ranks: Any, volume: Any) -> Array:
    """How far the buffers of a node's ranks outgrow its cache (M), 0 to 1."""
    local = np.minimum(ranks, CORES)
    held = volume * local
    return np.asarray(local / CORES * held / (held + CACHE))


def times(parameters: dict[str, float], runs: Runs) -> Times:
    """Phases of runs of the published programs, by parameters with the names of `START`."""
    own, words = parameters, runs.block * runs.samples
    volume = 8 * runs.s * words
    memory = pressure(runs.ranks, volume)

    def panel(nonzeros: Array, pairs: Array) -> Array:
        columns = runs.features / runs.ranks
        miss = own["miss"] * nonzeros / (nonzeros + 1e6) * columns / (columns + 512)
        call = (own["transpose"] + miss) * nonzeros + own["rows"] * runs.samples + own["call"]
        output = (own["out"] + own["out_memory"] * memory) * runs.samples
        return np.where(nonzeros > 0, call / runs.s + runs.block * (own["pair"] * pairs + output), 0.0)

    first = panel(runs.first, runs.first_pairs)
    most = np.maximum(panel(runs.most, runs.most_pairs), first)
    function = np.select(
        [runs.kernel == "polynomial", runs.kernel == "rbf"], [own["polynomial"], own["rbf"]], 0.0
    )
    latency, transfer = network(own, runs.ranks, volume)
    gradient = own["gradient"] + own["clear"] + (own["gradient_memory"] + own["clear_memory"]) * memory
    return Times(
        panel=first,
        function=function * words,
        waiting=most - first,
        start=own["start"] * runs.nonzeros / runs.ranks * runs.features / runs.iterations * 1e3,
        latency=latency / runs.s,
        transfer=transfer / runs.s,
        steps=words * gradient + runs.block * own["solve"] * runs.s * runs.block + own["step"],
    )
