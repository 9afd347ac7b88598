"""A solver that writes down what its steps use, with planted mistakes: that of studies/legal, in any of its orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.recurrence.mutation import NONE, Mutation
from studies.legal.solver import LegalSolver
from studies.legal.steps import Steps

MISTAKES = {
    "row": "kernel rows",
    "stale": "gradient",
    "correction": "gradient",
    "omega in g": "gradient",
    "late product": "gradient",
    "omega in eta": "curvature",
    "off-diagonal": "curvature",
    "doubled": "curvature",
    "upper end": "increment",
    "lower end": "increment",
    "turned": "increment",
    "before": "increment",
    "lost": "new value of a",
}
"""Mistakes by the quantity that they make wrong first."""

PLANTED = {"upper end": Mutation("no upper end", upper=None), "lower end": Mutation("no lower end", leak=1)}

TOO_LARGE = 1.001


class WrongSteps(Steps):
    """Steps with the mistake of a solver, in one iteration or in all; of wrong rows, in all steps of its window."""

    def __init__(self, drawn, problem):
        super().__init__(drawn, problem)
        self.made, self.before = 0, 0

    def _is(self, mistake):
        return self.drawn.mistake == mistake and self.drawn.at in (-1, self.made)

    def window(self, start, blocks, carried=None):
        right = self.scaled
        if self.drawn.mistake == "row" and (
            self.drawn.at < 0 or self.drawn.at - self.made in range(len(blocks))
        ):
            self.scaled = right * self.kind(TOO_LARGE)
        found = super().window(start, blocks, carried)
        self.scaled = right
        return found

    def _right_hand_side(self, i, value, start, moves, carried):
        start = 0 * start if self._is("stale") else start
        moves = [] if self._is("correction") else moves[:-1] if self._is("late product") else moves
        value = 0 * value if self._is("omega in g") else value
        return super()._right_hand_side(i, value, start, moves, carried)

    def _clipped(self, *given):
        return self._wrong(super()._clipped, *given)

    def _solved(self, *given):
        return self._wrong(super()._solved, *given)

    def _wrong(self, finish, block, now, right):
        shift, scaled = self.shift, self.scaled
        if self._is("omega in eta"):
            self.shift = self.kind(0)
        if self._is("off-diagonal"):
            self.scaled = np.diag(np.diag(scaled))
        if self._is("doubled"):
            self.shift, self.scaled = 2 * shift, 2 * scaled
        step = finish(block, now, right)
        self.shift, self.scaled = shift, scaled
        if self._is("turned"):
            step = step._replace(increments=[-one for one in step.increments])
        if self._is("before"):
            step, self.before = step._replace(increments=[self.before] * len(block)), step.increments[0]
        if self._is("lost"):
            step = step._replace(values=now)
        self.made += 1
        return step


class ProbingSolver(LegalSolver):
    """The solver.

    Parameters
    ----------
    order : str
        One of `studies.legal.arithmetic.ORDERS`.
    mistake : str
        One of `MISTAKES`, or none.
    at : int
        The iteration at which it is made; in all if negative.
    declared : object
        Fields of the declaration: precision, update, rbf, factorisation.
    """

    def __init__(self, order="sequential", mistake="", at=-1, **declared):
        declaration = Declaration("probing", log=True, probes=True, **declared)
        super().__init__(declaration, order, planted=PLANTED.get(mistake, NONE))
        self.mistake, self.at = mistake, at

    def steps(self, problem):
        return WrongSteps(self, problem)

    def run(self, request, observe=None):
        made = super().run(request, observe)
        if self.mistake != "row" or made.probes is None:
            return made
        rows = made.probes.rows.astype(self.declaration.precision)
        first = 0 if self.at < 0 else self.at // request.s * request.s
        rows[first : None if self.at < 0 else first + request.s] *= rows.dtype.type(TOO_LARGE)
        return replace(made, probes=replace(made.probes, rows=rows.astype(np.float64)))
