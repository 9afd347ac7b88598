"""Choice of the exchange that suits a problem, with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.problems import Kernel

COLLECTIVE_SECONDS = 2e-5
"""What one more small collective is taken to cost; between 3 and 25 us on a few ranks of one machine."""

LINEAR_SECONDS, POLYNOMIAL_SECONDS, RBF_SECONDS = 4e-10, 1e-9, 4e-9
"""Time of one panel entry after the reduction: its share of the gradient, and its kernel function."""


@dataclass(frozen=True)
class Choice:
    """An exchange and the reason for it.

    Parameters
    ----------
    exchange : {"allreduce", "reduce-scatter", "gram"}
        What is communicated.
    cache : int
        Words for kept kernel rows; 0 for none.
    words : int
        Words that a full window hands to the collectives, the trailer apart.
    reason : str
        One sentence.
    """

    exchange: str
    cache: int
    words: int
    reason: str


def choose_exchange(
    *, samples: int, s: int, block: int, iterations: int, ranks: int, kernel: Kernel, memory: int
) -> Choice:
    """Choose from the sizes of a run.

    Parameters
    ----------
    samples : int
        Number of samples (m).
    s, block, iterations : int
        Iterations per window, coordinates per block (b), iterations in all (H).
    ranks : int
        Number of ranks (P).
    kernel : Kernel
        The kernel.
    memory : int
        Words that a rank may spend on kernel rows.

    Returns
    -------
    Choice
    """
    most = min(s * block, samples)
    panel, small = samples * most, most * most + most
    if kernel.linear and small < panel:
        return Choice(
            "gram", 0, small,
            f"linear kernel: {small} words a window instead of {panel}, whatever the number of samples",
        )  # fmt: skip
    if samples * samples <= memory and iterations * block > samples:
        return Choice(
            "allreduce", samples * samples, panel,
            f"all {samples} kernel rows fit in {memory} words, and {iterations * block} draws use each "
            f"{iterations * block / samples:.3g} times: every row is formed once and kept",
        )  # fmt: skip
    saved = panel * (1 - 1 / ranks) * _entry_seconds(kernel)
    if ranks > 1 and (panel > memory or saved > COLLECTIVE_SECONDS):
        return Choice(
            "reduce-scatter", 0, panel + small,
            f"{panel} panel entries a window: kernel function and gradient of {samples // ranks} samples a "
            f"rank, not {samples}, are taken to be worth one more collective",
        )  # fmt: skip
    return Choice(
        "allreduce", 0, panel,
        f"{panel} panel entries a window on {ranks} rank{'s' * (ranks > 1)}: taken to be too few for a "
        "second collective to pay",
    )  # fmt: skip


def _entry_seconds(kernel: Kernel) -> float:
    if kernel.linear:
        return LINEAR_SECONDS
    return RBF_SECONDS if kernel.of_distance else POLYNOMIAL_SECONDS
