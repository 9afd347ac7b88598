"""Numerical verification and stability tests of s-step dual coordinate descent.

Three nouns come first: a `Problem` says what is solved, a `Solver` maps it to a `Trajectory`, and a check
judges trajectories: `judge` has the runs made that a check needs and returns its verdicts.
"""

from __future__ import annotations

# An interrupt is answered in one line once the command has set its handler: nothing slow is loaded before.
TYPE_CHECKING = False

__version__ = "1.0.0"

if TYPE_CHECKING:
    from sstep_verify.adapters import CallableSolver, ReferenceSolver
    from sstep_verify.declaration import Declaration, Exchange
    from sstep_verify.errors import DataError, FailedError, InputError, MissingExtraError, SstepVerifyError
    from sstep_verify.judging import judge
    from sstep_verify.problems import (
        Hinge,
        IndexStream,
        LinearKernel,
        PolynomialKernel,
        Problem,
        RBFKernel,
        Ridge,
        SquaredHinge,
    )
    from sstep_verify.protocol import RunRequest, Solver
    from sstep_verify.solver import ProductionSolver
    from sstep_verify.trajectory import Trajectory
    from sstep_verify.verdict import Sensitivity, Status, Verdict
    from sstep_verify.verifying import Report, parametrize_with_checks, verify

_ROOMS = {
    "declaration": ("Declaration", "Exchange"),
    "errors": ("DataError", "FailedError", "InputError", "MissingExtraError", "SstepVerifyError"),
    "judging": ("judge",),
    "problems": (
        "Hinge", "IndexStream", "LinearKernel", "PolynomialKernel", "Problem", "RBFKernel", "Ridge",
        "SquaredHinge",
    ),
    "protocol": ("RunRequest", "Solver"),
    "adapters": ("CallableSolver", "ReferenceSolver"),
    "solver": ("ProductionSolver",),
    "trajectory": ("Trajectory",),
    "verdict": ("Status", "Sensitivity", "Verdict"),
    "verifying": ("Report", "parametrize_with_checks", "verify"),
}  # fmt: skip
"""Modules of the public names; a module is imported when a name of it is first used."""

_HOMES = {name: f"{__name__}.{room}" for room, names in _ROOMS.items() for name in names}

__all__ = [
    "CallableSolver",
    "DataError",
    "Declaration",
    "Exchange",
    "FailedError",
    "Hinge",
    "IndexStream",
    "InputError",
    "LinearKernel",
    "MissingExtraError",
    "PolynomialKernel",
    "Problem",
    "ProductionSolver",
    "RBFKernel",
    "ReferenceSolver",
    "Report",
    "Ridge",
    "RunRequest",
    "Sensitivity",
    "Solver",
    "SquaredHinge",
    "SstepVerifyError",
    "Status",
    "Trajectory",
    "Verdict",
    "__version__",
    "judge",
    "parametrize_with_checks",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
