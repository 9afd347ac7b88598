"""Solvers that do what none should, for ``module:object``."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace

import numpy as np

from sstep_verify.adapters.callable import CallableSolver
from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.declaration import Declaration


class Spoiled(ReferenceSolver):
    """A right solver that does something else first."""

    def __init__(self, spoil=lambda request: None, change=lambda made: made):
        super().__init__("float64")
        self._spoil, self._change = spoil, change

    def run(self, request, observe=None):
        self._spoil(request)
        return self._change(super().run(request, observe))


def raises(request):
    raise ZeroDivisionError("planted\nin two lines")


def warns_no_more(request):
    np.seterr(all="raise")
    warnings.simplefilter("ignore")


def writes_targets(request):
    request.problem.targets.setflags(write=True)
    request.problem.targets[0] *= -1


def replaces_data(request):
    object.__setattr__(request.problem, "data", [[1.0]])


def masked(made):
    return replace(made, alphas=np.ma.masked_all(made.alphas.shape))


def not_a_number(made):
    return replace(made, alphas=made.alphas * np.nan)


def classical(problem, blocks, s, a0):
    return np.ma.masked_array(a0)


made = Spoiled()
masked_function = CallableSolver(classical, Declaration("masked"))
number = 3


def factory():
    return Spoiled()


def broken_factory():
    raise TypeError("planted")


def leaves():
    os._exit(0)
