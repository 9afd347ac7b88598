"""Write the dual coefficients of scikit-learn's KernelRidge: ``python fit.py DATA LAMBDA SIGMA FILE``."""

import sys

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_ridge import KernelRidge

data, targets = load_svmlight_file(sys.argv[1])
penalty, sigma = float(sys.argv[2]), float(sys.argv[3])
model = KernelRidge(alpha=penalty * targets.size, kernel="rbf", gamma=sigma).fit(data.toarray(), targets)
np.savetxt(sys.argv[4], model.dual_coef_, fmt="%.17g")
