"""What workers of pytest-xdist compile before their first test, with nothing compiled yet: each a part.

Beginning with their tests, all of them would compile the same functions at the same time.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def compile_part(place: int) -> None:
    """Have runs of K-SVM (worker 0) or of K-RR (worker 1) made and judged, and with them all that they call.

    The workers go through the options in opposite orders, so that what both of them need, each finds
    compiled by the other for a part.
    """
    from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, judge
    from sstep_verify.compiled import AVAILABLE
    from sstep_verify.solver import ProductionSolver

    if not AVAILABLE or place > 1:
        return
    generator = np.random.Generator(np.random.PCG64(0))
    data, targets = generator.standard_normal((12, 4)), np.resize([1.0, -1.0, -1.0], 12)
    block, loss = (3, Ridge(1.0)) if place else (1, Hinge(1.0))
    stream = IndexStream("uniform", 12, block, 24, seed=0)
    choices = [{}, {"exchange": "gram"}, {"keep_gram": True}, {"update": "frozen"}, {"cache": 144}]
    for options in choices[:: -1 if place else 1]:
        for values in (data, sp.csr_array(data)):
            kernel = LinearKernel() if "exchange" in options else RBFKernel(0.3)
            problem = Problem("compiled", values, targets, kernel, loss)
            judge(ProductionSolver(**options), problem, stream, 4, checks=["step-replay", "window-replay"])
