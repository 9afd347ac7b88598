"""The campaign of one vector that somebody's solver left in a file: nothing is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sstep_verify.adapters.stored import StoredVector, read_vector
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.memory import require_room
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.kind import refuse_unusable
from sstep_verify.errors import InputError
from sstep_verify.files import folder_stem
from sstep_verify.problems import Kernel, Problem
from sstep_verify.problems.losses import Loss
from sstep_verify.problems.transforms import require_usable, scale_from, with_constant_feature


def final_vector(
    path: str,
    data: str,
    kernel: Kernel,
    loss: Loss,
    *,
    scale: str = "",
    signed: bool = False,
    directory: str | None = None,
    tolerance: float = Family.tolerance,
    bias: float = 0.0,
    memory: float = Family.memory,
    command: str = "",
) -> Definition:
    """The campaign of one vector: whether it is the optimum of a problem on a data set or LIBSVM file.

    The file, see `read_vector`, holds c a, where `scale` says c, or its name in `transforms.scales`, else a
    itself; entries are ``y_i a_i`` where it is `signed` (K-SVM). Up to a `tolerance` it is the optimum: a
    relative duality gap (K-SVM), or an error ``||a - a*|| / ||a*||`` (K-RR); what leaves the box of a K-SVM
    may do so by that times C. `bias` is the value of a constant feature that is appended to the data, 0 for
    none; a process may take so many GiB of `memory`; `command` is the one given, for replay commands.
    InputError if file, data or a value cannot be used, or do not fit each other.
    """
    require_usable(bias, kernel)
    loaded = load_data(data, directory, "regression" if loss.task == "krr" else "classification")
    values = with_constant_feature(loaded.data, bias)
    problem = Problem(loaded.name, values, loaded.targets, kernel, loss).with_finite_kernel()
    require_room(problem.label, values, memory, "--memory", dense=True)
    ends = (problem.hinge.C,) if problem.is_svm else ()
    alpha, rounding = read_vector(path, problem.samples, ends, problem.features)
    if signed:
        if not problem.is_svm:
            raise InputError("--signed says that entries are y_i a_i, as those of a K-SVM may be; drop it")
        alpha = alpha * problem.targets
    if scale:
        factor = scale_from(problem, scale)
        # The division rounds what was written, and 1/lambda and the like are rounded themselves.
        alpha = alpha / factor
        rounding = rounding / abs(factor) + 2.0**-50 * np.abs(alpha) * np.isfinite(alpha)
    name = Path(path).name
    stem = folder_stem(path, "vector")
    family = Family(
        data=(data,),
        task=(loss.task,),
        kernel=(kernel,),
        s=(1,),
        parameter=(loss.parameter,),
        iterations=1,
        tolerance=tolerance,
        bias=bias,
        memory=memory,
        solver=stem,
        checks=("optimum", "box") if problem.is_svm else ("optimum",),
        given=StoredVector(name, alpha, rounding),
    )
    refuse_unusable(family, "--final")
    return Definition(
        name=f"{stem}-final",
        title=f"{name}: is it the optimum?",
        description=f"One vector, {name}, read as alpha of {problem.label}; nothing was run.",
        families=(family,),
        source="--final",
        command=command,
    )
