"""A classical solver that reads the run folder and writes a log; a planted mistake is its second argument."""

import sys
from pathlib import Path

import numpy as np

folder, mistake = Path(sys.argv[1]), (sys.argv[2:] or [""])[0]
given = dict(line.split(" ", 1) for line in (folder / "problem.txt").read_text().splitlines())
m, n, b, H = (int(given[name]) for name in ("samples", "features", "block", "iterations"))
A, y = np.fromfile(folder / "data.bin").reshape(m, n), np.fromfile(folder / "targets.bin")
blocks, a = np.fromfile(folder / "indices.bin", "<i8").reshape(H, b), np.fromfile(folder / "initial.bin")
log = np.empty((H, b))
if mistake == "labels inside":
    A = y[:, None] * A
K = A @ A.T
if given["kernel"] == "polynomial":
    K = np.multiply.reduce([float(given["offset"]) + K] * int(given["degree"]))
elif given["kernel"] == "rbf":
    norms = np.einsum("ij,ij->i", A, A)
    K = np.exp(-float(given["sigma"]) * np.maximum(norms[:, None] + norms - 2 * K, 0))
if given["task"] == "krr":
    penalty = float(given["lambda"])
    diagonal = (1 if mistake == "m dropped" else m) * np.eye(b)
    for step, B in enumerate(blocks):
        residual = y[B] - m * a[B] - K[B] @ a / penalty
        a[B] += np.linalg.solve(K[np.ix_(B, B)] / penalty + diagonal, residual)
        log[step] = a[B]
else:
    C = float(given["C"])
    upper, shift = (C, 0.0) if given["task"] == "svm-l1" else (np.inf, 1 / (2 * C))
    for step, (i,) in enumerate(blocks):
        gradient, curvature = y[i] * (K[i] @ (y * a)) - 1 + shift * a[i], K[i, i] + shift
        a[i] = min(max(a[i] - gradient / curvature, 0), upper) if curvature else upper
        log[step, 0] = a[i]
if mistake == "final alone":
    a[0] += 1e-9
log.tofile(folder / "log.bin")
a.tofile(folder / "final.bin")
