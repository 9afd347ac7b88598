"""Which vectors there are: vector k is drawn from generators seeded by k, whatever their number.

Task, kernel, s and the sizes of what is out of the ordinary go round with k, so that any few vectors in
a row differ in all of them; the numbers themselves are drawn. Every number is one of float32, and so both
a solver in float64 and one in float32 hold the problem exactly.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import (
    IndexStream,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    loss_from,
)
from sstep_verify.problems.losses import TASKS
from sstep_verify.protocol import RunRequest
from sstep_verify.scenarios.data import in_bits

KERNELS = ("linear", "polynomial", "rbf")
LENGTHS = (4, 1, 7, 2, 16, 3, 32)
"""Iterations per window (s)."""

MOST_ITERATIONS = {1: 8, 2: 14, 3: 20, 4: 26, 7: 36, 16: 40, 32: 36}
"""Iterations of the longest run (H) by s; of s = 32 one window or a long and a short one."""

GRID = 2.0**-10
SCALES = (1.0, 1.0, 2.0**-5, 1.0, 32.0)
OFFSETS = (0.0, 0.0, 0.0, 4.0)
SIGMAS, DEGREES, ADDED = (0.5, 0.125, 1.0, 2.0), (3, 2, 4), (0.0, 1.0, 0.5)
PENALTIES = (1.0, 0.25, 4.0, 0.0625, 16.0)
"""C K_ii of a K-SVM, or K_ii / (lambda m) of a K-RR, for a typical sample i."""

ORDERS = ("uniform", "uniform", "epochs", "uniform", "cyclic")


def choose(number: int) -> tuple[str, RunRequest]:
    """Vector `number`, from 0: the name of its folder, such as ``017-krr-rbf-s4-b3``, and its run.

    The run is that of problem, index stream, s, H and a0, recorded at all ends of windows.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence((0x5EC7085, number))))
    task, kernel_name = TASKS[number % 3], KERNELS[number // 3 % 3]
    s, turn = LENGTHS[number % len(LENGTHS)], number // 9
    block = 1 + turn % 3 if task == "krr" else 1
    scale = SCALES[turn % len(SCALES)]
    data = _data(generator, kernel_name, scale, OFFSETS[turn % len(OFFSETS)])
    samples = data.shape[0]
    if number % 5 == 1:
        data[generator.integers(samples)] = 0.0
    kernel = _kernel(kernel_name, turn, scale)
    typical = float(np.median(kernel.diagonal((data * data).sum(axis=1))))
    ratio = PENALTIES[(turn + number % 9) % len(PENALTIES)]
    parameter = float(in_bits(typical / (ratio * samples) if task == "krr" else ratio / typical, 4))
    problem = Problem(
        f"vector {number}",
        data,
        _targets(generator, task, samples),
        kernel,
        loss_from(task, parameter),
    )
    iterations = _iterations(generator, s, number)
    order = ORDERS[number // 2 % len(ORDERS)]
    stream = IndexStream(order, samples, block, iterations, seed=number)
    request = RunRequest(
        problem,
        stream,
        s,
        iterations,
        initial=_start(generator, problem) if number % 2 else np.zeros(samples),
        record=tuple(range(s, iterations, s)),
    )
    return f"{number:03d}-{task}-{kernel_name}-s{s}-b{block}", request


def _data(generator: np.random.Generator, kernel: str, scale: float, offset: float) -> np.ndarray:
    """Samples on a grid, shape (m, n), 6 <= m <= 24, 2 <= n <= 8; an offset is in units of their spread."""
    samples, features = int(generator.integers(6, 19)), int(generator.integers(2, 9))
    if generator.integers(4) == 0:
        samples = int(generator.integers(19, 25))
    spread = generator.standard_normal((samples, features)) / np.sqrt(features)
    shift = offset if kernel == "rbf" else offset / 4
    return np.round((spread + shift) / GRID) * (GRID * scale) + 0.0  # no -0


def _kernel(name: str, turn: int, scale: float) -> Kernel:
    """A kernel whose parameters follow the scale of the data, which it would else make useless."""
    if name == "linear":
        return LinearKernel()
    if name == "rbf":
        return RBFKernel(SIGMAS[turn % len(SIGMAS)] / scale**2)
    return PolynomialKernel(DEGREES[turn % len(DEGREES)], ADDED[turn // 3 % len(ADDED)] * scale**2)


def _targets(generator: np.random.Generator, task: str, samples: int) -> np.ndarray:
    """Labels of both classes, or targets on a grid in [-1, 1], shape (m,)."""
    if task == "krr":
        return generator.integers(-1024, 1025, size=samples) * GRID
    labels = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    labels[generator.permutation(samples)[:2]] = -1.0, 1.0
    return labels


def _iterations(generator: np.random.Generator, s: int, number: int) -> int:
    """H: as it is drawn, in every third vector down to a multiple of s if there is one."""
    most = MOST_ITERATIONS[s]
    iterations = int(generator.integers(max(most // 2, 5), most + 1))
    whole = iterations - iterations % s
    return whole if number % 3 == 0 and whole else iterations


def _start(generator: np.random.Generator, problem: Problem) -> np.ndarray:
    """An a0 that is not zero, shape (m,): parts of C, some at its ends, or of the targets (K-RR)."""
    if problem.is_svm:
        return generator.integers(0, 5, size=problem.samples) / 4 * problem.hinge.C
    return generator.integers(-64, 65, size=problem.samples) * GRID
