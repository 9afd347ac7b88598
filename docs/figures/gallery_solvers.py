"""Two correct s-step solvers in plain Python with an RBF kernel, which the gallery of defects edits."""

import numpy as np


def kernel(X, sigma):
    """The kernel matrix of the rows of X."""
    inner = X @ X.T
    norms = np.diag(inner)
    return np.exp(-sigma * (norms[:, None] + norms - 2 * inner))


def svm(problem, blocks, s, a0, log):
    """s-step DCD for K-SVM-L1 and K-SVM-L2."""
    y, C, squared = problem.targets, problem.loss.C, problem.loss.task == "svm-l2"
    upper, omega = (np.inf, 1 / (2 * C)) if squared else (C, 0.0)
    Q = y[:, None] * kernel(problem.dense, problem.kernel.sigma) * y
    alpha = a0.copy()
    for begin in range(0, len(blocks), s):
        window = blocks[begin : begin + s, 0]
        product = Q[window] @ alpha
        for t, i in enumerate(window):
            gradient = product[t] - 1 + omega * alpha[i]
            new = min(max(alpha[i] - gradient / (Q[i, i] + omega), 0), upper)
            change = new - alpha[i]
            product[t + 1 :] += Q[window[t + 1 :], i] * change
            alpha[i] = log[begin + t, 0] = new
    return alpha


def ridge(problem, blocks, s, a0, log):
    """s-step BDCD for K-RR; a block may hold a coordinate several times."""
    y, m, penalty = problem.targets, problem.samples, problem.loss.penalty
    K = kernel(problem.dense, problem.kernel.sigma)
    alpha = a0.copy()
    for begin in range(0, len(blocks), s):
        window = blocks[begin : begin + s]
        product = K[window] @ alpha / penalty
        for t, B in enumerate(window):
            G = K[np.ix_(B, B)] / penalty + m * np.eye(len(B))
            change = np.linalg.solve(G, y[B] - m * alpha[B] - product[t])
            product[t + 1 :] += K[window[t + 1 :]][:, :, B] @ change / penalty
            np.add.at(alpha, B, change)
            log[begin + t] = alpha[B]
    return alpha
