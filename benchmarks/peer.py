"""The scikit-learn side of `peers`: a program that imports nothing of ours, for its process is timed."""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import numpy as np


def estimator(name: str, sigma: float, parameter: float, tolerance: float, samples: int) -> Any:
    """An estimator by its name, with sigma, and C or lambda."""
    if name == "KernelRidge":
        from sklearn.kernel_ridge import KernelRidge

        # (K + alpha I) c = y is ours with alpha = lambda m, a = lambda c.
        return KernelRidge(alpha=parameter * samples, kernel="rbf", gamma=sigma)
    if name == "SVC":
        from sklearn.svm import SVC

        return SVC(C=parameter, kernel="rbf", gamma=sigma, tol=tolerance, cache_size=512)
    from sklearn.svm import LinearSVC

    return LinearSVC(
        loss="hinge", dual=True, fit_intercept=False, C=parameter, tol=tolerance, max_iter=10**7,
        random_state=0,
    )  # fmt: skip


def fit_once(text: str) -> None:
    """The whole process of scikit-learn: read, fit, write."""
    from sklearn.datasets import load_svmlight_file

    *asked, tolerance, file = json.loads(text)
    data, targets = load_svmlight_file(file)
    if data.nnz * 3 >= data.shape[0] * data.shape[1]:
        data = data.toarray()
    else:
        # Its reader gives 64 bits where its estimators take 32.
        data.indices, data.indptr = data.indices.astype(np.int32), data.indptr.astype(np.int32)
    model = estimator(*asked, tolerance, data.shape[0]).fit(data, targets)
    kept = model.coef_ if hasattr(model, "coef_") else model.dual_coef_
    with tempfile.TemporaryFile() as out:
        np.savez(out, kept)


if __name__ == "__main__":
    fit_once(sys.argv[1])
