"""A defect of the short last window only is called so, by every check that judges steps or windows."""

from __future__ import annotations

import numpy as np
import pytest
from judged import hinted, judged, named_case

from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import step_replay, window_replay
from sstep_verify.checks.shared.last_window import hints_of_last_window
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel
from sstep_verify.verdict import Hint, HintKind, Status

S, ITERATIONS = 8, 79
LEFT = ITERATIONS % S

WHERE = {
    "last": lambda begin: begin + S > ITERATIONS,
    "every": lambda begin: True,
    "first": lambda begin: begin == 0,
    "first and last": lambda begin: begin == 0 or begin + S > ITERATIONS,
    "none": lambda begin: False,
}
"""Windows without the kernel correction."""


def uncorrected(where, log):
    """A K-SVM-L1 on the linear kernel that makes some windows without their kernel correction."""

    def solve(problem, blocks, s, a0, log=None):
        signed = problem.dense * problem.targets[:, None]
        Q, C, alpha = signed @ signed.T, problem.loss.C, a0.copy()
        for begin in range(0, len(blocks), s):
            window = blocks[begin : begin + s, 0]
            gradient = Q[window] @ alpha - 1
            for t, i in enumerate(window):
                new = min(max(alpha[i] - gradient[t] / Q[i, i], 0), C)
                later = np.flatnonzero(window[t + 1 :] != i) + t + 1 if where(begin) else slice(0)
                gradient[t + 1 :] += Q[window[t + 1 :], i] * (new - alpha[i])
                gradient[later] -= Q[window[later], i] * (new - alpha[i])
                alpha[i] = new
                if log is not None:
                    log[begin + t, 0] = new
        return alpha

    plain = lambda problem, blocks, s, a0: solve(problem, blocks, s, a0)  # noqa: E731
    return CallableSolver(solve if log else plain, Declaration("mine", log=log))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("check", [step_replay, window_replay], ids=lambda one: one.ID)
def test_only_a_defect_of_the_last_window_is_called_so(check, where):
    tested = uncorrected(WHERE[where], log=check is step_replay)
    case, _ = named_case(
        Hinge(2.0), LinearKernel(), solver=tested, s_values=(S,), iterations=ITERATIONS, samples=20
    )
    verdict = judged(check, case, tested)[S]
    assert verdict.status is (Status.PASS if where == "none" else Status.FAIL), verdict.reason
    assert (HintKind.LAST_WINDOW in hinted(verdict)) == (where == "last")
    if where == "last":
        assert Hint(HintKind.LAST_WINDOW, (LEFT, S)) in verdict.hints
        assert verdict.place.begin >= ITERATIONS - LEFT


@pytest.mark.parametrize(
    ("faulty", "length", "s", "others", "told"),
    [
        ([76, 78], 79, 8, True, True),
        ([72], 79, 8, True, True),
        ([71, 76], 79, 8, True, False),  # one step before it
        ([76], 80, 8, True, False),  # s divides the iterations
        ([2], 7, 8, False, False),  # the only window
        ([76], 79, 8, False, False),  # nothing else was judged
        ([], 79, 8, True, False),
    ],
)
def test_the_hint_is_given_where_full_windows_were_judged_and_are_correct(faulty, length, s, others, told):
    hints = hints_of_last_window(faulty, length, s, others=others)
    assert hints == ((Hint(HintKind.LAST_WINDOW, (length % s, s)),) if told else ())
