"""The dual vector that a training run of the production solver ends with."""

from __future__ import annotations

from sstep_verify.parallel.communicator import SelfCommunicator
from sstep_verify.problems import Problem
from sstep_verify.solvers.production.training import train
from sstep_verify.solvers.production.training_plan import Trained
from sstep_verify.training.decisions import decide
from sstep_verify.training.request import TrainingRequest


def trained_alpha(
    problem: Problem,
    *,
    block: int = 1,
    iterations: int | None = None,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> Trained:
    """Train as `solve` does with its defaults, on one process and without any file.

    Parameters
    ----------
    problem : Problem
        What to train on.
    block : int
        Coordinates of a block (b).
    iterations : int, optional
        Most iterations; 100 passes over the samples if absent.
    tolerance : float
        Relative gap (K-SVM) or residual (K-RR) at which to stop.
    seed : int
        Seed of the drawn coordinates.

    Raises
    ------
    InputError
        If a value is out of range.
    """
    request = TrainingRequest(
        problem.name, "no file.npz", problem.kernel, problem.loss,
        block=block, iterations=iterations, tolerance=tolerance, seed=seed,
    )  # fmt: skip
    decided = decide(request, problem.samples, 1)
    return train(problem, decided.stream, decided.plan, decided.options, SelfCommunicator())
