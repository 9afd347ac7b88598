"""A machine on paper: what windows would take, and a tuner that hears of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sstep_verify.costs.known import Candidate
from sstep_verify.costs.tuning import Tuner


@dataclass
class Machine:
    """Nanoseconds of windows: latency, work of an iteration, and what grows with s, of each exchange.

    `lag`: batches by which answers are late, 1 on several ranks. `noise`: mean share of exponential noise on a
    batch, and `spikes` the share of batches in which another process takes a millisecond.
    """

    latency: float = 2e4
    work: float = 2e3
    growth: float = 20.0
    noise: float = 0.0
    spikes: float = 0.0
    exchanges: dict[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self):
        self._drawn = np.random.default_rng(self.seed)
        self.waiting: list = []

    def window(self, candidate: Candidate) -> float:
        s = candidate.s
        each = self.latency + s * self.work + s * s * self.growth
        return each * self.exchanges.get(candidate.exchange, 1.0)

    def batch(self, candidate: Candidate, windows: int) -> float:
        noise = self._drawn.exponential(self.noise) if self.noise else 0.0
        spike = 1e6 if self._drawn.random() < self.spikes else 0.0
        return windows * self.window(candidate) * (1 + noise) + spike

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        return min(candidates, key=lambda one: self.window(one) / one.s)


@dataclass
class Played:
    """Windows made, with their candidates, and the time without noise."""

    windows: list[Candidate] = field(default_factory=list)
    nanoseconds: float = 0.0
    iterations: int = 0


def play(
    tuner: Tuner,
    machine: Machine,
    windows: int,
    lag: int = 0,
    told: Callable[[int], bool] = lambda made: True,
) -> Played:
    """Make at least so many windows as a tuner says; a batch is cut at the end of a window beyond its limit."""
    played, waiting = Played(), machine.waiting
    while len(played.windows) < windows:
        batch = tuner.choose()
        candidate, made, taken = batch.candidate, 0, 0.0
        while made < batch.windows and taken <= batch.limit:
            made, taken = made + 1, taken + machine.window(candidate)
        iterations = made * candidate.s
        waiting.append((batch, iterations, machine.batch(candidate, made)))
        played.windows += [candidate] * made
        played.nanoseconds += made * machine.window(candidate)
        played.iterations += iterations
        if len(waiting) > lag:
            answer = waiting.pop(0)
            if told(len(played.windows)):
                tuner.observe(*answer)
    return played
