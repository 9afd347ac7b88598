"""A loss of one's own: support vector regression, of which the package knows nothing.

With the epsilon-insensitive loss ``max(|f(x) - y| - epsilon, 0)`` the dual is

    min 1/2 a'K a - y'a + epsilon |a|_1  over  -C <= a_i <= C.

Along coordinate i the smooth part has the gradient ``g = K_i a - y_i`` and the curvature ``eta = K_ii``;
its minimiser is ``z = a_i - g / eta``, and the new value is the soft threshold of z, clipped:

    a_i <- clip(sign(z) max(|z| - epsilon / eta, 0), -C, C).

What is written here is all that the judge needs of a loss: the description, whose ends, threshold and
linear term the bounds and the recurrence are made from (`sstep_verify.problems.BoxedLoss`), and its exact
step. That step is written apart from the description, and in another form: each window that is replayed
must end in both at the same point, or the oracle refuses to judge.

Source: C.-H. Ho and C.-J. Lin, "Large-scale Linear Support Vector Regression", JMLR 13 (2012), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sstep_verify.errors import not_negative
from sstep_verify.oracle.balls.exact_kernel import classical_steps
from sstep_verify.problems import BoxedLoss


@dataclass(frozen=True)
class EpsilonInsensitive(BoxedLoss):
    """Epsilon-insensitive loss.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [-C, C].
    epsilon : float
        Half the width of the tube in which no deviation costs anything, >= 0.
    """

    epsilon: float = 0.1
    task: ClassVar[str] = "svr"
    labelled: ClassVar[bool] = False
    base_task: ClassVar[str] = "svm-l1"

    def __post_init__(self):
        super().__post_init__()
        why = "a tube has no negative width"
        object.__setattr__(self, "epsilon", not_negative("SVR", "epsilon", self.epsilon, why))

    @property
    def lower(self) -> float:
        """Lower end of the box."""
        return -self.C

    @property
    def threshold(self) -> float:
        """Weight of the 1-norm."""
        return self.epsilon


@classical_steps.register
def exact_run(loss: EpsilonInsensitive, kernel, targets, initial, blocks, trace) -> Any:
    """Classical steps, in any arithmetic: of a convex function that is quadratic on either side of 0.

    Over [-C, 0] it falls as ``g - epsilon`` does, with the minimiser ``a_i - (g - epsilon) / eta`` clipped,
    over [0, C] as ``g + epsilon`` does. The former minimiser before the clip is the larger one, so that at
    most one of the two is not 0 after it, and that one is the minimiser over [-C, C]: so it is their sum.
    """
    arithmetic = kernel.arithmetic
    alpha, zero, C = arithmetic.vector(initial), arithmetic.number(0), arithmetic.number(loss.C)
    with arithmetic.working():
        epsilon = arithmetic.number(loss.epsilon)
        for (i,) in blocks:
            column, target = kernel.column(i), arithmetic.number(targets[i])
            if arithmetic.is_zero(column[i]):
                outside = abs(targets[i]) > loss.epsilon
                alpha[i] = (C if targets[i] > 0 else -C) if outside else zero
            else:
                gradient = arithmetic.dot(column, alpha) - target
                negative = alpha[i] - (gradient - epsilon) / column[i]
                positive = alpha[i] - (gradient + epsilon) / column[i]
                alpha[i] = arithmetic.clip(positive, zero, C) - arithmetic.clip(-negative, zero, C)
            if trace is not None:
                trace.append(alpha.copy())
    return alpha
