"""A quantity that is left out of a drawn solver's steps is that of the recurrence, whatever is maintained."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import RunRequest
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, LinearKernel, Problem
from sstep_verify.problems.losses import TASKS, loss_from
from sstep_verify.quantities import CURVATURE, KERNEL
from sstep_verify.recurrence.mutation import left_out
from studies.admissible.solver import AdmissibleSolver
from studies.admissible.undeclared import Undeclared

SAMPLES, LENGTH, S = 4, 12, 5


@pytest.mark.parametrize("quantity", [KERNEL, CURVATURE])
@pytest.mark.parametrize(
    ("task", "maintained"),
    [
        *((task, kind) for task in TASKS for kind in ("", "weights")),
        *(("svm-l1", "gradient"), ("svm-l2", "gradient"), ("krr", "residual")),
    ],
)
def test_a_quantity_is_left_out_as_the_recurrence_leaves_it_out(task, maintained, quantity):
    generator = np.random.Generator(np.random.PCG64(3))
    targets = generator.choice([-1.0, 1.0], SAMPLES)
    loss = loss_from(task, 0.5)
    problem = Problem("planted", generator.standard_normal((SAMPLES, 3)), targets, LinearKernel(), loss)
    stream = IndexStream("uniform", SAMPLES, 2 if task == "krr" else 1, LENGTH, seed=2)
    solver = AdmissibleSolver(
        Declaration("drawn", update="frozen", weights=0 if maintained == "weights" else None),
        "sequential",
        planted=left_out(quantity),
        undeclared=Undeclared(maintained="" if maintained == "weights" else maintained),
    )
    made = solver.run(RunRequest(problem, stream, S, LENGTH)).final
    mutations = [left_out(quantity)]
    (states,) = Oracle(problem).mutated(
        problem, np.zeros(SAMPLES), stream.blocks(0, LENGTH), S, {LENGTH}, mutations
    )
    np.testing.assert_allclose(made, [float(one) for one in states[LENGTH]], rtol=1e-9, atol=1e-12)
