"""A correct solver that makes, writes down and reports whatever it declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.adapters.recording import kept, record, start_vector
from sstep_verify.errors import InputError
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.trajectory import Claim, Panel, Probes, Trajectory, fingerprint
from studies.legal.arithmetic import Drawn
from studies.legal.steps import Carried, Step, Steps

DECIMALS = 6
"""Of a run that is written down in decimals."""


class LegalSolver(Drawn):
    """The solver that is drawn."""

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; InputError if a factorisation fails."""
        own, declared, scale = Steps(self, request.problem), self.declaration, self.scale
        initial, steps = start_vector(request, declared.precision), list[Step]()
        carried = Carried(own, initial.astype(own.kind)) if declared.state else None
        states = [carried.values] if carried else []

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            draws = request.stream.blocks(request.start + begin, request.start + end)
            for first in range(0, len(draws), request.s):
                blocks = draws[first : first + request.s]
                alpha, made = own.window(alpha, blocks, carried)
                if len(made) < len(blocks):
                    raise InputError(f"{request.problem.name}: a factorisation failed")
                steps.extend(made)
                ended = (begin + first) // request.s + 1
                if carried and declared.recompute and not ended % declared.recompute:
                    carried.form(alpha.astype(own.kind))
            states.extend([carried.values] if carried else [])
            return alpha

        made = record(request, initial / scale if scale != 1 else initial, advance, observe)
        if carried:
            made = replace(made, state={carried.name: kept(np.array(states[: len(made.alphas)]))})
        if scale != 1 or self.decimals:
            made = _written(made, initial, scale, self.decimals)
        blocks = request.stream.blocks(request.start, request.start + made.length)
        if request.expose_panels and declared.exposes:
            made = replace(made, panels=dict(_panels(made, blocks, kept(own.matrix), declared.panels)))
        if steps and (request.log or request.probes):
            values, *used = (kept(np.array(one)) for one in zip(*steps, strict=True))
            probes = Probes(kept(own.matrix)[blocks], *used) if request.probes else None
            made = replace(made, log=values if request.log else None, probes=probes)
        made = replace(made, **self._told_of_ranks(request, made, blocks))
        return replace(made, **self._claimed(own, made))

    def _told_of_ranks(self, request: RunRequest, made: Trajectory, blocks: np.ndarray) -> dict[str, Any]:
        """Counts of exchange allreduce, and the digest of every rank."""
        declared, problem = self.declaration, request.problem
        norms = problem.kernel.of_distance and declared.rbf == "norm-expansion"
        ends = range(0, made.length, request.s)
        columns = sum(np.unique(blocks[first : first + request.s]).size for first in ends)
        collectives = len(ends) + norms
        counts = {"windows": len(ends), "panel columns": columns, "collectives": collectives}
        words = problem.samples * (columns + norms) + 2 * collectives
        digests = [(fingerprint(alpha),) * declared.ranks for alpha in made.alphas]
        return {
            "counters": counts | {"words": words},
            "fingerprints": dict(zip(made.iterations.tolist(), digests, strict=True)),
        }

    def _claimed(self, own: Steps, made: Trajectory) -> dict[str, Any]:
        """What the solver says of its last a, each value from sums of its own."""
        problem, kind, sums, C = own.problem, own.kind, own.sums, own.penalty
        alpha = made.final.astype(kind)
        products = np.array([sums.dot(row, alpha) for row in own.matrix], dtype=kind)
        if problem.is_svm:
            products = np.array([sums.dot(row, own.signs * alpha) for row in own.matrix], dtype=kind)
            products = products * own.signs
            loss, half = problem.hinge, sums.dot(alpha, products) / kind(2)
            lost = np.maximum(kind(1) - products, kind(0))
            primal = half + C * sums.add(lost if loss.power == 1 else lost * lost)
            shifted = sums.dot(alpha / (kind(4) * C), alpha) if loss.shift else kind(0)
            dual = sums.add(alpha) - half - shifted
            found = {"primal": primal, "dual": dual, "gap": primal - dual, "objective": -dual}
        else:
            residual = own.targets - products / own.penalty - kind(problem.samples) * alpha
            found = {"residual": np.sqrt(sums.dot(residual, residual))}
        reached = float(found["gap" if problem.is_svm else "residual"]) <= self.tolerance
        claims = {name: Claim(float(value)) for name, value in found.items()}
        return {
            "claims": claims | {"iterations": Claim(made.length)},
            "stopped": "tolerance" if reached and made.stopped == "iterations" else made.stopped,
        }


def _panels(
    made: Trajectory, blocks: np.ndarray, matrix: np.ndarray, whole: bool
) -> Iterator[tuple[int, Panel]]:
    """The kernel rows of every recorded window, or their entries among its own coordinates."""
    for begin, end in made.windows():
        columns = np.unique(blocks[begin:end])
        if whole:
            yield begin, Panel(columns, matrix[columns])
        else:
            yield begin, Panel(columns, matrix[np.ix_(columns, columns)], columns)


def _written(made: Trajectory, initial: np.ndarray, scale: int, decimals: bool) -> Trajectory:
    """A run whose a is a product with a scale, or printed, and how far it may be off by that."""
    exact = made.alphas.astype(np.longdouble) * scale  # a longdouble holds the products of both types
    values = exact.astype(made.alphas.dtype)
    if decimals:
        values = np.array(
            [[float(f"{value:.{DECIMALS}f}") for value in row] for row in values], values.dtype
        )
    values[0] = initial
    errors = np.spacing(np.abs(values.astype(np.float64))) + decimals * 0.5 * 10.0**-DECIMALS
    errors[0] = 0.0
    return replace(made, alphas=values, rounding=errors)
