"""The clip that box says was tested: what a solver without it does, in its own rounding, leaves the box."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import RunRequest
from sstep_verify.checks import box
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration, Precision
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel, SquaredHinge
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.verdict import Status, Why
from studies.admissible.arithmetic import ORDERS
from studies.admissible.solver import AdmissibleSolver
from studies.false_positives.groups import verdicts_of

WITHOUT = Mutation("clip left out", leak=1, upper=None)


def _alike(seed: int, loss: Hinge | SquaredHinge) -> Problem:
    """Samples whose RBF kernel entries are 1 but for what float32 does not hold."""
    generator = np.random.Generator(np.random.PCG64(seed))
    samples = int(generator.integers(3, 9))
    data = generator.standard_normal((samples, 3)) * 2.0**-10
    return Problem("alike", data, generator.choice([-1.0, 1.0], samples), RBFKernel(2.0**-8), loss)


@pytest.mark.parametrize("seed", [0, 17, 30])
def test_a_clip_that_rounding_hides_is_not_tested(seed):
    """The steps of float32 are whole numbers here: none of them leaves the box by what is exactly 1e-9."""
    problem = _alike(seed, SquaredHinge(2.0**50))
    declared = Declaration("drawn", precision="float32")
    stream = IndexStream("uniform", problem.samples, 1, 60, seed)
    case = Case("alike", problem, stream, (5,), 60, declared, points={5: tuple(range(5, 61, 5))})
    finals = []
    for planted in (NONE, WITHOUT):
        (*_, verdict), run = verdicts_of(
            case, AdmissibleSolver(declared, "sequential", planted=planted), (box.ID,)
        )
        assert (verdict.check, verdict.status) == (box.ID, Status.VACUOUS)
        assert verdict.why is Why.WITHIN_BOUND
        finals.append(run.final.tolist())
    assert finals[0] == finals[1]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0)], ids=str)
def test_a_step_without_the_clip_leaves_the_box_by_what_is_promised(precision: Precision, loss):
    generator, tested = np.random.Generator(np.random.PCG64(5)), 0
    declared = Declaration("drawn", precision=precision)
    for seed in range(60):
        problem = _alike(seed, loss)
        stream = IndexStream("uniform", problem.samples, 1, 1, seed)
        start = generator.choice([0.0, 0.5, 1.0], problem.samples)
        case = Case("alike", problem, stream, (1,), 1, declared, initial=start)
        place = stream.blocks(0, 1).ravel()
        (beyond,) = box._beyond(case, start, place)
        solver = AdmissibleSolver(declared, ORDERS[seed % len(ORDERS)], planted=WITHOUT)
        (value,) = solver.run(RunRequest(problem, stream, 1, 1, initial=start)).final[place]
        assert max(-value, value - loss.upper) >= beyond or beyond == 0.0
        tested += bool(beyond > 0.0)
    assert tested > 5
