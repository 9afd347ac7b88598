"""Choice of the exchange that suits a problem, with the reason."""

from __future__ import annotations

from sstep_verify.problems import Kernel

COLLECTIVE_SECONDS = 2e-5
"""What one more small collective is taken to cost; between 3 and 25 us on a few ranks of one machine."""

LINEAR_SECONDS, POLYNOMIAL_SECONDS, RBF_SECONDS = 4e-10, 1e-9, 4e-9
"""Time of one panel entry after the reduction: its share of the gradient, and its kernel function."""


def choose_exchange(
    *, samples: int, s: int, block: int, iterations: int, ranks: int, kernel: Kernel, memory: int
) -> tuple[str, int, str]:
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
    exchange : {"allreduce", "reduce-scatter", "gram"}
        What is communicated.
    cache : int
        Words for kept kernel rows; 0 for none.
    reason : str
        One sentence.
    """
    most = min(s * block, samples)
    panel, small = samples * most, most * most + most
    if kernel.linear and small < panel:
        reason = f"{small} words a window instead of {panel}, whatever the number of samples"
        return "gram", 0, f"linear kernel: {reason}"
    if samples * samples <= memory and iterations * block > samples:
        draws = iterations * block
        reason = f"all {samples} kernel rows fit in {memory} words, and {draws} draws use each "
        reason += f"{draws / samples:.3g} times: every row is formed once and kept"
        return "allreduce", samples * samples, reason
    saved = panel * (1 - 1 / ranks) * _entry_seconds(kernel)
    if ranks > 1 and (panel > memory or saved > COLLECTIVE_SECONDS):
        reason = (
            f"{panel} panel entries a window: kernel function and gradient of {samples // ranks} samples"
        )
        reason += f" a rank, not {samples}, are taken to be worth one more collective"
        return "reduce-scatter", 0, reason
    reason = (
        f"{panel} panel entries a window on {ranks} rank{'s' * (ranks > 1)}: taken to be too few for a "
    )
    return "allreduce", 0, f"{reason}second collective to pay"


def _entry_seconds(kernel: Kernel) -> float:
    if kernel.linear:
        return LINEAR_SECONDS
    return RBF_SECONDS if kernel.of_distance else POLYNOMIAL_SECONDS
