"""Write docs/gallery.md: twelve defects, each with its edit, its curves, and what the verdict on it prints.

Usage: ``python docs/figures/gallery.py``, which also draws docs/figures/gallery/*.svg.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import cache
from itertools import chain
from pathlib import Path
from textwrap import fill

import gallery_solvers
import numpy as np
from why import BOTH_MODES, HIGHEST, LOWEST

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
    judge,
)
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.measures import GapMeasure
from sstep_verify.oracle.choice import oracle_named
from sstep_verify.report.chart import Plot, Scale, document, line, page_colour, path, text
from sstep_verify.verdict import Verdict

FOLDER = Path(__file__).parent
PAGE, DRAWN = FOLDER.parent / "gallery.md", FOLDER / "gallery"
SAMPLES, PASSES, S, BLOCK = 60, 40, 4, 3
SMALLEST = 1e-12
"""Relative gaps below it are taken as it: rounding is as large."""

HIDDEN = 5
"""Factor between gaps that nobody would notice."""

SHOWN = 400
"""Steps whose ratios are drawn."""


@dataclass(frozen=True)
class Defect:
    """A defect: its edits of a solver, and what the page says of it.

    Parameters
    ----------
    slug, title : str
        Name of its figure, and heading of its section.
    problem : str
        Problem that it is shown on, see `problems`.
    function : str
        Function of gallery_solvers.py that is edited.
    edits : tuple of (str, str)
        What stands there once, and what stands there instead.
    words : str
        What it is, and how a person comes to make it.
    more : int
        Iterations beyond whole passes.
    repeated : bool
        Whether blocks are drawn with replacement.
    last : bool
        Whether the last steps are drawn, not the first.
    logged : bool
        Whether the solver that is judged logs its steps.
    """

    slug: str
    title: str
    problem: str
    function: str
    edits: tuple[tuple[str, str], ...]
    words: str
    more: int = 0
    repeated: bool = False
    last: bool = False
    logged: bool = True

    @property
    def sources(self) -> tuple[str, str]:
        """The function without and with the defect."""
        before = after = inspect.getsource(getattr(gallery_solvers, self.function))
        for old, new in self.edits:
            assert after.count(old) == 1, (self.slug, old)
            after = after.replace(old, new)
        return before, after

    @property
    def solve(self) -> Callable[..., np.ndarray]:
        """The faulty solver."""
        names: dict[str, Callable[..., np.ndarray]] = {}
        exec(inspect.getsource(gallery_solvers).replace(*self.sources), names)
        return names[solver_of(self.problem)]

    @property
    def diff(self) -> str:
        """The edit, with a line around each change."""
        lines = [source.splitlines() for source in self.sources]
        return "\n".join(list(unified_diff(*lines, n=1, lineterm=""))[2:])


START = ("        for t, ", "        start = alpha.copy()\n        for t, ")
"""Keeps alpha of the window's start."""

DEFECTS = (
    Defect(
        "factor", "A correction that is slightly too large", "K-SVM-L1", "svm",
        (("i] * change", "i] * change * (1 + 1e-9)"),),
        "The kernel correction is too large by one part in 1e9. Errors of this kind arise where its "
        "kernel entries are kept in a lower precision than those of the products.",
    ),
    Defect(
        "no-correction", "The correction left out", "K-SVM-L1", "svm",
        (("            product[t + 1 :] += Q[window[t + 1 :], i] * change\n", ""),),
        "Every step of a window uses the products of the window's start. This is what remains if a "
        "classical solver is cut into windows and nothing else is changed.",
    ),
    Defect(
        "overlap", "A coordinate drawn again in its window", "K-RR", "ridge",
        (START, ("m * alpha[B]", "m * start[B]")),
        "The kernel correction is made, but the term `m alpha` of the residual keeps the value of the "
        "window's start. It matters only where a window draws a coordinate twice.",
    ),
    Defect(
        "labels", "Labels inside the kernel", "K-SVM-L1", "svm",
        (("Q = y[:, None] * kernel(problem.dense, problem.kernel.sigma) * y",
          "Q = kernel(y[:, None] * problem.dense, problem.kernel.sigma)"),),
        "The labels multiply the samples before the kernel, not the kernel entries after it. Both are "
        "the same for a linear kernel, so the defect appears when a linear solver gets an RBF kernel.",
    ),
    Defect(
        "norms", "Norms dropped", "K-SVM-L1", "kernel",
        (("(norms[:, None] + norms - 2 * inner)", "(-2 * inner)"),),
        "The squared distance is expanded, and its two squared norms are left out. On several ranks "
        "they need a reduction of their own, which is easily forgotten.",
    ),
    Defect(
        "omega", "A stale omega", "K-SVM-L2", "svm",
        (START, ("omega * alpha[i]", "omega * start[i]")),
        "The shift `omega alpha` of the gradient keeps the value of the window's start. K-SVM-L1 has no "
        "such term, so a solver that was tested with the L1 loss first does not show it.",
    ),
    Defect(
        "m", "1/m instead of m", "K-RR", "ridge",
        (("m * np.eye", "1 / m * np.eye"),),
        "The diagonal of the block system holds 1/m instead of m. Papers scale the ridge objective in "
        "several ways, and a formula of one is combined with the residual of another.",
    ),
    Defect(
        "lambda", "Lambda left out of the correction", "K-RR", "ridge",
        (("@ change / penalty", "@ change"),),
        "Kernel entries are divided by lambda in the products and in the block system, but not in the "
        "correction.",
    ),
    Defect(
        "tail", "The last window lost", "K-RR", "ridge",
        (("range(0, len(blocks), s)", "range(0, len(blocks) - s + 1, s)"),),
        "The loop makes whole windows only. Where s does not divide the number of iterations, the last "
        "ones are never made. The solver declares no log here, so windows are judged.",
        more=2, last=True, logged=False,
    ),
    Defect(
        "upper", "A clip without its upper limit", "K-SVM-L1", "svm",
        (("min(max(alpha[i] - gradient / (Q[i, i] + omega), 0), upper)",
          "max(alpha[i] - gradient / (Q[i, i] + omega), 0)"),),
        "The new value is kept above 0 but not below C, as is correct for K-SVM-L2. `alpha` leaves the "
        "box, and the duality gap becomes negative: a test that it is at most 1e-6 passes. The figure "
        "shows its size.",
    ),
    Defect(
        "early", "A window begun one step early", "K-SVM-L1", "svm",
        (("alpha = a0.copy()", "alpha = before = a0.copy()"), ("Q[window] @ alpha", "Q[window] @ before"),
         ("            alpha[i] = log", "            before = alpha.copy()\n            alpha[i] = log")),
        "The products of a window are formed before the last step of the window before it is applied. "
        "This happens where communication is started early, to hide it behind that step.",
    ),
    Defect(
        "repeats", "Increments of a repeated coordinate", "K-RR", "ridge",
        (("np.add.at(alpha, B, change)", "alpha[B] += change"),),
        "Blocks are drawn with replacement here. `alpha[B] += change` of NumPy then adds one increment "
        "of a coordinate that a block holds twice, and loses the other.",
        repeated=True,
    ),
)  # fmt: skip


def solver_of(problem: str) -> str:
    """Name of the function that solves a problem."""
    return "ridge" if problem == "K-RR" else "svm"


@cache
def problems() -> dict[str, Problem]:
    """The three problems of the page, on the same samples."""
    generator = np.random.Generator(np.random.PCG64(0))
    data = generator.standard_normal((SAMPLES, 5))
    labels = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
    targets = data @ generator.standard_normal(5) + generator.standard_normal(SAMPLES)
    losses = {"K-SVM-L1": Hinge(C=1.0), "K-SVM-L2": SquaredHinge(C=1.0), "K-RR": Ridge(penalty=0.01)}
    return {
        name: Problem(name, data, targets if name == "K-RR" else labels, RBFKernel(sigma=0.1), loss)
        for name, loss in losses.items()
    }


def stream_of(problem: str, more: int, *, repeated: bool) -> IndexStream:
    """The coordinates drawn: `PASSES` over the samples, and `more` iterations."""
    block = BLOCK if problem == "K-RR" else 1
    kind = "mt19937" if repeated else "uniform"
    return IndexStream(kind, SAMPLES, block, SAMPLES * PASSES // block + more, replacement=repeated)


@dataclass(frozen=True)
class Measured:
    """A run: relative gap after each pass and at the end, error of each step over its bound, verdict."""

    passes: np.ndarray
    gaps: np.ndarray
    ratios: np.ndarray
    verdict: Verdict


def measured(
    solve: Callable[..., np.ndarray], problem: str, more: int, *, repeated: bool, logged: bool = True
) -> Measured:
    """Run a solver, and judge it; a ratio is infinite where the bound is 0 or the step was not made."""
    given, stream = problems()[problem], stream_of(problem, more, repeated=repeated)
    solver = CallableSolver(solve, Declaration("mine", log=True, factorisation="lu"))
    case = Case("gallery", given, stream, (S,), stream.length, solver.declaration)
    run = solver.run(replace(plain_request(case, S), log=True))
    assert run.log is not None
    measure, alpha, passes, gaps = GapMeasure(given), np.zeros(SAMPLES), [], []
    for k, (drawn, values) in enumerate(zip(stream.blocks(0, stream.length), run.log, strict=True), 1):
        if np.isfinite(values).all():
            alpha[drawn] = values
        if k * stream.block % SAMPLES == 0 or k == stream.length:
            found = measure(alpha)
            passes.append(k * stream.block / SAMPLES)
            gaps.append(found.gap / abs(found.dual))
    tally = StepJudge(case, oracle_named("arb", given)).run(run).tally
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(tally.distance == 0, 0.0, tally.distance / tally.bound)
    ratios[~np.isfinite(run.log).all(axis=1)] = np.inf
    judged = solver if logged else CallableSolver(_unlogged(solve), replace(solver.declaration, log=False))
    verdict = judge(judged, given, stream, s=S)[-1]
    return Measured(np.array(passes), np.array(gaps), ratios, verdict)


def _unlogged(solve: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The same solver, whose log nobody gets."""
    return lambda problem, blocks, s, a0: solve(problem, blocks, s, a0, np.empty(blocks.shape))


@cache
def correct(problem: str, more: int, repeated: bool) -> Measured:
    """The correct solver on the same draws."""
    return measured(getattr(gallery_solvers, solver_of(problem)), problem, more, repeated=repeated)


@dataclass(frozen=True)
class Shown:
    """A defect and both runs."""

    defect: Defect
    correct: Measured
    faulty: Measured

    @property
    def apart(self) -> float:
        """Largest factor, after a pass or at the end, between the gaps of both solvers."""
        one, other = (np.maximum(np.abs(run.gaps), SMALLEST) for run in (self.correct, self.faulty))
        return float(np.exp(np.abs(np.log(other / one)).max()))

    @property
    def over(self) -> int:
        """Steps over their bound."""
        return int(np.count_nonzero(self.faulty.ratios > 1))

    @property
    def named(self) -> str:
        """What the verdict names as the cause."""
        return ", ".join(" and ".join(one.names) for one in self.faulty.verdict.defects) or "none"

    @property
    def row(self) -> tuple[str, ...]:
        """The row of the page's table."""
        verdict = self.faulty.verdict
        return (
            f"[{self.defect.title}](#{anchor(self.defect.title)})",
            self.defect.problem,
            f"{self.apart:.2g}",
            f"{self.correct.gaps[-1]:.1e}",
            f"{self.faulty.gaps[-1]:.1e}",
            f"{self.over:,} of {self.faulty.ratios.size:,}",
            str(verdict.status),
            self.named,
            ", ".join(verdict.requirements),
        )


def shown(defect: Defect) -> Shown:
    """Both runs of a defect."""
    asked = defect.problem, defect.more
    return Shown(
        defect,
        correct(*asked, defect.repeated),
        measured(defect.solve, *asked, repeated=defect.repeated, logged=defect.logged),
    )


def anchor(title: str) -> str:
    """The name of a heading in links."""
    return "".join(one for one in title.lower() if one.isalnum() or one in " -").replace(" ", "-")


HEAD = """# Gallery of defects

This page is for authors and reviewers of s-step solvers. After it you know how twelve defects look
in the code, in the duality gap, in single steps, and in our verdict.

Each defect is an edit of one of [two correct solvers](figures/gallery_solvers.py) in plain Python.
A run makes {passes} passes over {samples} random samples with an RBF kernel. A window is {s} steps,
and K-RR draws blocks of {block} coordinates. The correct solvers pass on all of these problems.

The defects are ordered by how well the duality gap hides them. The column "gaps apart" is the largest
factor between the gaps of the faulty and the correct solver, after any pass. Gaps below
{smallest:.0e} count as {smallest:.0e}. For the first {hidden} defects the gaps are never {most} times
apart, so a test of the gap does not help. Single steps are wrong all the same.

"""

FIGURES = """
In each figure the left panel shows the relative duality gap over the passes. The right panel shows
the error of single steps over their bounds, for {shown} steps. Blue dots are steps of the correct
solver, and none is above 1. Orange dots are the steps of the faulty solver that exceed their
bounds. Dots at the top edge are infinite: their bound is 0, or the step was not made. Steps without
any error are not drawn.
"""

COLUMNS = (
    "defect", "problem", "gaps apart", "final gap, correct", "final gap, faulty", "steps over the bound",
    "verdict", "cause named", "requirement",
)  # fmt: skip

NEXT = """
`python docs/figures/gallery.py` makes this page and its figures.

**Next:** [how bounds work](how-bounds-work.md) derives the bound of one step.
[Read a failure](read-a-failure.md) explains what a FAIL says.
"""


def section(one: Shown) -> str:
    """What the page says of a defect."""
    defect, verdict = one.defect, one.faulty.verdict
    violated = ", ".join(f"[{number}](spec.md)" for number in verdict.requirements)
    may = "violates" if verdict.requirement else "violates one of"
    over = f"{one.over:,} steps of the faulty one exceed their bounds"
    alt = f"The gaps of both solvers are at most {one.apart:.2g} times apart; {over}."
    reason = "\n".join(verdict.reason.splitlines()[:2])
    words = fill(defect.words, 118, break_on_hyphens=False)
    return (
        f"\n## {defect.title}\n\n{words}\n\n```diff\n{defect.diff}\n```\n\n"
        f"![{alt}](figures/gallery/{defect.slug}.svg)\n\n"
        f"It {may} {violated}. `{verdict.check}` prints:\n\n"
        f"```text\n{verdict.status}: {reason}\n```\n"
    )


def page(found: Sequence[Shown]) -> str:
    """The whole page, the defects that the gap hides best first."""
    found = sorted(found, key=lambda one: float(f"{one.apart:.2g}"))
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(one.row for one in found)]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    hidden = sum(one.apart < HIDDEN for one in found)
    run = {"passes": PASSES, "samples": SAMPLES, "s": S, "block": BLOCK}
    head = HEAD.format(**run, smallest=SMALLEST, hidden=hidden, most=HIDDEN)
    return head + table + FIGURES.format(shown=SHOWN) + "".join(map(section, found)) + NEXT


def drawing(one: Shown) -> str:
    """Both panels of a defect."""
    total = one.faulty.ratios.size
    first = max(total - SHOWN, 0) if one.defect.last else 0
    left = Plot(Scale(0, PASSES, linear=True), Scale(-12, 2), 280, 150, left=62, top=10)
    right = Plot(
        Scale(first, first + SHOWN, linear=True), Scale(LOWEST, HIGHEST), 280, 150, left=430, top=10
    )
    bottom, end, bound = left.top + left.height, right.left + right.width, right.y(1.0)
    parts = [
        *left.axes([(k, str(k)) for k in range(0, PASSES + 1, 10)], "passes over the samples",
                   "relative duality gap", [(10.0**k, f"1e{k}" if k else "1") for k in range(-12, 3, 4)]),
        _curve(left, one.correct, 0),
        _curve(left, one.faulty, 1),
        *right.axes([(first + k, f"{first + k:,}") for k in range(0, SHOWN + 1, 100)], "iteration",
                    levels=[(10.0**k, f"1e{k}" if k else "1") for k in range(LOWEST, HIGHEST + 1, 4)]),
        text(0, 0, "error of the step / its bound", text_anchor="middle",
             transform=f"translate(384 {right.top + right.height / 2:.0f}) rotate(-90)"),
        line(right.left, bound, end, bound, stroke="currentColor", stroke_width="1.5"),
        *_dots(right, one.correct, 0, first, 10.0**LOWEST),
        *_dots(right, one.faulty, 1, first, 1.0),
        *chain.from_iterable(_named(name, k, 62 + 140 * k, bottom + 50) for k, name in enumerate(NAMES)),
    ]  # fmt: skip
    return document(end + 20, bottom + 60, [BOTH_MODES, *parts])


NAMES = ("correct", "faulty")


def _curve(plot: Plot, run: Measured, place: int) -> str:
    points = plot.points(run.passes, np.maximum(np.abs(run.gaps), SMALLEST))
    outline = "".join(f"{'L' if k else 'M'}{x:.1f} {y:.1f}" for k, (x, y) in enumerate(points))
    look = {"stroke_width": "2", "stroke_dasharray": "6 6" if place else "", "fill": "none"}
    return path(outline, stroke=page_colour(place), **look)


def _dots(plot: Plot, run: Measured, place: int, first: int, least: float) -> Iterator[str]:
    """A dot for each step shown whose ratio is above `least`."""
    drawn = [
        (k, min(float(ratio), 10.0**HIGHEST))
        for k, ratio in enumerate(run.ratios[first : first + SHOWN], first + 1)
        if ratio > least
    ]
    outline = "".join(f"M{plot.x(k):.1f} {plot.y(ratio):.1f}h0" for k, ratio in drawn)
    if outline:
        look = {"stroke_width": "3", "stroke_linecap": "round", "stroke_opacity": ".75", "fill": "none"}
        yield path(outline, stroke=page_colour(place), **look)


def _named(name: str, place: int, x: float, y: float) -> Iterator[str]:
    dashes = "6 6" if place else ""
    yield path(f"M{x} {y - 4}h26", stroke=page_colour(place), stroke_width="4", stroke_dasharray=dashes)
    yield text(x + 32, y, name)


def main() -> None:
    """Write the page, and draw its figures."""
    found = [shown(defect) for defect in DEFECTS]
    PAGE.write_text(page(found), encoding="utf-8")
    DRAWN.mkdir(exist_ok=True)
    for one in found:
        (DRAWN / f"{one.defect.slug}.svg").write_text(drawing(one), encoding="utf-8")


if __name__ == "__main__":
    main()
