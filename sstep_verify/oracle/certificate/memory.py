"""Bytes that an optimum or a certificate takes, said before its search begins."""

from __future__ import annotations

GIB = 2**30


BALL = 150
"""Bytes of a kernel entry held as a ball, with its Python object."""


KEPT_BALL = 110
"""The same where a matrix of balls holds it without one."""


SVM_ENTRY = 190
"""Bytes per kernel entry in the search of a K-SVM: Q and its Cholesky factor in float64, the kernel in
balls of 300 bits. Measured: 189 at m = 2,000, 183 at m = 4,000."""


RIDGE_ENTRY = 32
"""The same of a K-RR: at most four matrices of float64. Measured: 29 at m = 3,000."""


def optimum_bytes(samples: int, *, svm: bool) -> int:
    """Bytes of the m x m matrices that `svm_optimum` or `ridge_optimum` holds at once.

    That of a K-SVM is proved over the whole kernel in balls; that of a K-RR needs only products.
    """
    return (SVM_ENTRY if svm else RIDGE_ENTRY) * samples**2


def certificate_bytes(samples: int, *, svm: bool) -> int:
    """The same of a certificate, for which that of a K-RR keeps one triangle of its kernel in balls."""
    triangle = 0 if svm else KEPT_BALL * samples * (samples + 1) // 2
    return optimum_bytes(samples, svm=svm) + triangle


def gibibytes(size: int) -> str:
    """Bytes in GiB, to two digits at least: ``0.51``, ``24``, ``196``."""
    return f"{size / GIB:.0f}" if size >= 10 * GIB else f"{size / GIB:.2g}"
