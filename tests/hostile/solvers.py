"""Python solvers that misbehave, as modules that a campaign names; each says whether a green verdict would be wrong."""

from __future__ import annotations

RIGHT = '''
"""An s-step DCD of its own, and what it does besides."""
import os, signal, sys, threading, time, warnings
import numpy as np
from sstep_verify.declaration import Declaration
from sstep_verify.adapters import CallableSolver

CALLS = 0

def solve(problem, blocks, s, a0, log):
    global CALLS
    CALLS += 1
    data, labels, sigma, upper = problem.data, problem.targets, problem.kernel.sigma, problem.loss.C
    alpha, norms = a0.copy(), np.einsum("ij,ij->i", data, data)
    BEFORE
    for begin in range(0, len(blocks), s):
        drawn = blocks[begin : begin + s, 0]
        distances = np.maximum(norms[drawn, None] + norms - 2 * data[drawn] @ data.T, 0)
        distances[np.arange(drawn.size), drawn] = 0
        panel = np.exp(-sigma * distances) * labels * labels[drawn, None]
        gradient = panel @ alpha - 1
        for place, i in enumerate(drawn):
            updated = min(max(alpha[i] - gradient[place] / panel[place, i], 0), upper)
            increment = updated - alpha[i]
            alpha[i] = log[begin + place, 0] = updated
            gradient[place + 1 :] += panel[place, drawn[place + 1 :]] * increment
            INSIDE
    AFTER
    return alpha

solver = CallableSolver(solve, Declaration(name="mine", log=True))
'''

HARMLESS = {
    "nothing": {},
    "numpy errors raise": {"BEFORE": "np.seterr(all='raise')"},
    "warnings are errors": {"BEFORE": "warnings.simplefilter('error')"},
    "prints": {"AFTER": "print('x' * 10000); sys.stderr.write('y')"},
    "changes the folder": {"BEFORE": "os.chdir('/')"},
    "seeds the global generator": {"BEFORE": "np.random.seed(0)"},
    "raises the recursion limit": {"BEFORE": "sys.setrecursionlimit(5000)"},
    "leaves a thread": {"AFTER": "threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start()"},
    "changes its blocks": {"AFTER": "blocks[:] = 0"},
    "changes its start vector": {"AFTER": "a0[:] = 7"},
    "sets the environment": {"BEFORE": "os.environ['OMP_NUM_THREADS'] = 'x'"},
    "returns a subclass": {"AFTER": "alpha = alpha.view(type('Mine', (np.ndarray,), {}))"},
}
"""Python put into a right solver that leaves it right."""

HARMFUL = {
    "returns NaN": {"AFTER": "alpha[0] = np.nan"},
    "returns NaN sometimes": {"AFTER": "alpha[0] = np.nan if CALLS > 1 else alpha[0]"},
    "returns a masked array": {"AFTER": "alpha = np.ma.masked_all(alpha.shape)"},
    "returns objects": {"AFTER": "alpha = alpha.astype(object)"},
    "returns complex numbers": {"AFTER": "alpha = alpha + 0j"},
    "returns text": {"AFTER": "alpha = 'alpha'"},
    "returns nothing": {"AFTER": "return None"},
    "returns a matrix": {"AFTER": "alpha = alpha[:, None]"},
    "returns one entry too few": {"AFTER": "alpha = alpha[1:]"},
    "returns float32": {"AFTER": "alpha = alpha.astype(np.float32)"},
    "returns its start vector": {"AFTER": "alpha = a0"},
    "raises": {"BEFORE": "raise RuntimeError('no')"},
    "raises a group": {"BEFORE": "raise ExceptionGroup('g', [ValueError('no')])"},
    "exits": {"BEFORE": "sys.exit(0)"},
    "exits at once": {"BEFORE": "os._exit(0)"},
    "exits at its second call": {"BEFORE": "CALLS > 1 and os._exit(0)"},
    "kills itself": {"BEFORE": "os.kill(os.getpid(), signal.SIGKILL)"},
    "interrupts": {"BEFORE": "raise KeyboardInterrupt"},
    "replaces a function of NumPy": {"AFTER": "np.isfinite = np.abs = None"},
    "deletes a function of Python": {"AFTER": "import builtins; del builtins.sorted"},
    "lowers the recursion limit": {
        "AFTER": "sys.setrecursionlimit(len(__import__('inspect').stack()) + 9)"
    },
    "recurses": {"BEFORE": "solve(problem, blocks, s, a0, log)"},
    "replaces the data": {"AFTER": "object.__setattr__(problem, 'data', problem.data * 2)"},
    "overwrites the targets": {"AFTER": "problem.targets.flags.writeable = True; problem.targets[:] = 1"},
    "log is NaN": {"AFTER": "log[:] = np.nan"},
    "log is zero": {"AFTER": "log[:] = 0"},
    "correction off": {
        "INSIDE": "gradient[place + 1 :] += 1e-9 * panel[place, drawn[place + 1 :]] * increment"
    },
    "drops the last step": {"AFTER": "alpha[blocks[-1, 0]] = a0[blocks[-1, 0]] + 0.125"},
}
"""Python put into a right solver that no green verdict may follow."""


def module(change: dict[str, str]) -> str:
    """Source of a module with a solver of this conduct."""
    source = RIGHT
    for place in ("BEFORE", "INSIDE", "AFTER"):
        source = source.replace(place, change.get(place, "pass"))
    return source
