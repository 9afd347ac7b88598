"""Draw docs/figures/why.svg: three solvers that converge alike, and the errors of their single steps.

Usage: ``python docs/figures/why.py``, which also prints the table of docs/why.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sstep_verify import CallableSolver, Declaration, Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.choice import oracle_named
from sstep_verify.report.chart import Plot, Scale, document, line, page_colour, path, text

FIGURE = Path(__file__).with_suffix(".svg")
SAMPLES, PASSES, S, LONGER, SHOWN = 60, 200, 4, 16, 1_000
FACTORS = {"correct": 1.0, "correction × (1 + 1e-9)": 1 + 1e-9, "correction left out": 0.0}
"""Name of each solver, with the factor on its kernel correction."""

COLOURS = {"correct": 0, "correction × (1 + 1e-9)": 2, "correction left out": 1}
DASHES = {"correction × (1 + 1e-9)": "7 9"}
LOWEST, HIGHEST = -4, 16
"""Decades of the ratios that are drawn: what is below or above stands at the end of the scale."""

BOTH_MODES = """<style>
svg { background: #fff; color: #1b1b1b; }
@media (prefers-color-scheme: dark) {
  svg { background: #16181b; color: #e8e8e8; --rule: #44484d;
        --c-0072b2: #56a9e0; --c-d55e00: #ff8f45; --c-009e73: #35c79b; }
}
</style>"""


@dataclass(frozen=True)
class Measured:
    """One solver: gaps after each pass, and the ratio of every step of its first `SHOWN` (inf: bound 0)."""

    name: str
    gaps: np.ndarray
    objective: float
    ratios: np.ndarray

    @property
    def over(self) -> np.ndarray:
        """Iterations, from 1, of the steps over their bound."""
        return np.flatnonzero(self.ratios > 1) + 1


def problem() -> Problem:
    """The K-SVM of the README."""
    generator = np.random.Generator(np.random.PCG64(0))
    data = generator.standard_normal((SAMPLES, 5))
    labels = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
    return Problem("example", data, labels, LinearKernel(), Hinge(C=1.0))


def solver(factor: float) -> CallableSolver:
    """The solver of the README, its kernel correction multiplied by a factor."""

    def solve(problem, blocks, s, a0, log):
        signed = problem.dense * problem.targets[:, None]
        Q = signed @ signed.T
        alpha = a0.copy()
        for begin in range(0, len(blocks), s):
            window = blocks[begin : begin + s, 0]
            gradient = Q[window] @ alpha - 1
            for t, i in enumerate(window):
                new = min(max(alpha[i] - gradient[t] / Q[i, i], 0), problem.loss.C)
                gradient[t + 1 :] += factor * Q[window[t + 1 :], i] * (new - alpha[i])
                alpha[i] = log[begin + t, 0] = new
        return alpha

    return CallableSolver(solve, Declaration("mine", log=True))


def gap_and_objective(alpha: np.ndarray) -> tuple[float, float]:
    """Relative duality gap, and the objective that the dual method minimises."""
    given = problem()
    signed = given.dense * given.targets[:, None]
    weights = signed.T @ alpha
    dual = 0.5 * weights @ weights - alpha.sum()
    primal = 0.5 * weights @ weights + np.maximum(0, 1 - signed @ weights).sum()
    return (primal + dual) / abs(dual), dual


def gap_after(factor: float, s: int) -> float:
    """Relative duality gap of a solver after `SHOWN` steps, in windows of s."""
    stream = IndexStream("uniform", SAMPLES, 1, SHOWN, seed=0)
    case = Case("why", problem(), stream, (s,), SHOWN, Declaration("mine", log=True))
    run = solver(factor).run(replace(plain_request(case, s), log=True))
    return gap_and_objective(run.at(SHOWN))[0]


def measured() -> list[Measured]:
    """All three solvers, on the same draws."""
    given, found = problem(), []
    stream = IndexStream("uniform", SAMPLES, 1, SAMPLES * PASSES, seed=0)
    judge = None
    for name, factor in FACTORS.items():
        case = Case("why", given, stream, (S,), stream.length, Declaration("mine", log=True))
        judge = judge or StepJudge(case, oracle_named("arb", given))
        run = solver(factor).run(replace(plain_request(case, S), log=True))
        tally = judge.run(run).tally
        alpha, gaps = np.zeros(SAMPLES), []
        for k, (i, value) in enumerate(
            zip(stream.blocks(0, stream.length)[:, 0], run.log[:, 0], strict=True), 1
        ):
            alpha[i] = value
            if k % SAMPLES == 0:
                gaps.append(gap_and_objective(alpha)[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(tally.distance == 0, 0.0, tally.distance / tally.bound)
        found.append(Measured(name, np.array(gaps), gap_and_objective(alpha)[1], ratios))
    return found


def table(solvers: Sequence[Measured]) -> list[str]:
    """What docs/why.md says in numbers, a line each."""
    best = solvers[0].objective
    head = "| solver | relative duality gap | objective | steps over their bound | verdict |"
    return [head, "|---|---|---|---|---|"] + [
        f"| {one.name} | {one.gaps[-1]:.1e} | {_difference(one.objective, best)} | {one.over.size:,} of "
        f"{one.ratios.size:,} | {'FAIL' if one.over.size else 'PASS'} |"
        for one in solvers
    ]  # fmt: skip


def _difference(value: float, best: float) -> str:
    return f"differs by {abs(value / best - 1):.0e}" if abs(value / best - 1) > 1e-12 else "the same"


def drawing(solvers: Sequence[Measured]) -> str:
    """The figure: gaps at the left, ratios at the right."""
    left = Plot(Scale(0, PASSES, linear=True), Scale(-6, 1), 330, 240, left=66, top=40)
    right = Plot(Scale(0, SHOWN, linear=True), Scale(LOWEST, HIGHEST), 330, 240, left=506, top=40)
    levels = [(10.0**k, f"1e{k}" if k else "1") for k in range(LOWEST, HIGHEST, 4)]
    bottom, end, bound = right.top + right.height, right.left + right.width, right.y(1.0)
    parts = [
        text(66, 18, "Final answers: all three converge", font_weight="bold", font_size="14"),
        *left.axes([(k, str(k)) for k in range(0, 201, 50)], "passes over the samples",
                   "relative duality gap", [(10.0**k, f"1e{k}" if k else "1") for k in range(-6, 2)]),
        *(part for place in (0, 2, 1) for part in _gaps(left, solvers[place])),
        text(506, 18, "Single steps: only one is correct", font_weight="bold", font_size="14"),
        *right.axes([(k, f"{k:,}") for k in range(0, 1001, 250)], "iteration", levels=levels),
        text(0, 0, "error of the step / its bound", text_anchor="middle",
             transform=f"translate(452 {right.top + right.height / 2:.0f}) rotate(-90)"),
        line(right.left, bound, end, bound, stroke="currentColor", stroke_width="1.5"),
        text(end, bound + 13, "bound", text_anchor="end"),
        text(end, right.top + 4, "a bound of 0", text_anchor="end"),
        *(part for one in solvers for part in _ratios(right, one)),
        *(part for place, one in enumerate(solvers) for part in _named(one, 66 + 262 * place, bottom + 62)),
    ]  # fmt: skip
    return document(end + 20, bottom + 76, [BOTH_MODES, *parts])


def _gaps(plot: Plot, one: Measured) -> Iterator[str]:
    points = plot.points(range(1, PASSES + 1), one.gaps)
    outline = "".join(f"{'L' if k else 'M'}{x:.1f} {y:.1f}" for k, (x, y) in enumerate(points))
    yield path(
        outline,
        stroke=_colour(one),
        stroke_width="2.2",
        fill="none",
        stroke_dasharray=DASHES.get(one.name, ""),
    )


def _ratios(plot: Plot, one: Measured) -> Iterator[str]:
    """A dot a step: every one of the correct solver, and those over the bound of the others."""
    drawn = [
        (k, min(float(ratio), 10.0**HIGHEST))
        for k, ratio in enumerate(one.ratios[:SHOWN], 1)
        if ratio > (1 if one.over.size else 10.0**LOWEST)
    ]
    points = plot.points(*zip(*drawn, strict=True))
    outline = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    yield path(
        outline,
        stroke=_colour(one),
        stroke_width="3.4",
        stroke_linecap="round",
        stroke_opacity=".75",
        fill="none",
    )


def _named(one: Measured, x: float, y: float) -> Iterator[str]:
    yield path(
        f"M{x} {y - 4}h26", stroke=_colour(one), stroke_width="4", stroke_dasharray=DASHES.get(one.name, "")
    )
    yield text(x + 32, y, f"{one.name}: {'FAIL' if one.over.size else 'PASS'}", font_size="13")


def _colour(one: Measured) -> str:
    return page_colour(COLOURS[one.name])


def main() -> None:
    """Draw the figure, and print the numbers of the page."""
    solvers = measured()
    FIGURE.write_text(drawing(solvers), encoding="utf-8")
    print("\n".join(table(solvers)))
    print(f"s = {LONGER}: gap {gap_after(1, LONGER):.1g}, without correction {gap_after(0, LONGER):.1g}")


if __name__ == "__main__":
    main()
