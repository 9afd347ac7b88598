"""A stand-in of ours for the authors' programs: their arguments and output, nothing of their code. Linear kernel.

A name that ends with "last" changes the last entry of alpha.
"""

import ctypes
import sys

import numpy as np

program, *rest = sys.argv[1:]
defect, program = program.endswith("last"), program.removesuffix("last")
numbers = [int(word) for word in rest]
b = numbers.pop(0) if program.startswith("krr") else 1
s, H = numbers if program.endswith("s-step") else (1, *numbers)

y, X = np.empty(32), np.zeros((32, 8))
with open("data.svm", encoding="ascii") as file:
    for i, (label, *entries) in enumerate(line.split() for line in file):
        y[i] = float(label)
        for place, value in (entry.split(":") for entry in entries):
            X[i, int(place) - 1] = float(value)

libc = ctypes.CDLL(None)
libc.srand(42)
K, m = X @ X.T, 32
alpha = np.zeros(m)
for _ in range(H):
    block = [libc.rand() % m for _ in range(b)]
    if program.startswith("ksvm"):
        (i,) = block
        gradient = y[i] * (K[i] @ (y * alpha)) - 1
        alpha[i] = min(max(alpha[i] - gradient / K[i, i], 0), 1) if K[i, i] else 1
    else:  # scaled by m
        system = K[np.ix_(block, block)] / (1e-5 * m**2) + np.eye(b) / m
        right = (y[block] - alpha[block]) / m - K[block] @ alpha / (1e-5 * m**2)
        np.add.at(alpha, block, np.linalg.solve(system, right))
if defect:
    alpha[-1] += 1e-6
print("setup finished\n\nAlpha: ")
print("\n".join(f"{value:.17g} " for value in alpha))
print("\ndata.svm, linear, 1, 2.5")
