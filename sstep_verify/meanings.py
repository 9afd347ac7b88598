"""What each known defect is, in one line: the words that stand next to its name wherever it is printed.

A defect has a name that programs compare, and a meaning that people read. The specification lists the names
(`sstep_verify.specification`), and tests/unit/report/test_meanings.py compares both lists.
"""

from __future__ import annotations

from sstep_verify.quantities import (
    BOUNDARY,
    CURVATURE,
    KERNEL,
    LABELS,
    LOWER,
    OFF_DIAGONAL,
    OMEGA,
    OVERLAP,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    TAIL,
    UPPER,
    WRITE_BACK,
)
from sstep_verify.specification import LEFT_OUT, OFF

ON_DIAGONAL = "m faulty only on the diagonal"

EVERY_ENTRY = "m in every entry of a block system"
"""Has one factor only, which says nothing."""

MEANINGS: dict[str, str] = {
    # Steps: the catalogue.
    "overlap-dropped": "a coordinate drawn again in a window is taken at its value of the window's start",
    "omega-dropped": "the gradient lacks omega times alpha",
    "stale-alpha": "no step of a window uses the increments of the steps before it",
    "tail-lost": "the last, short window is not made",
    "assigned-once": "a coordinate that is drawn several times gets its last increment only",
    "correction-dropped": "the kernel correction is missing",
    "curvature-halved": "the curvature is halved, so steps are twice as long",
    "label-lost": "the label of the drawn coordinate has the wrong sign",
    "upper-end-lost": "new values may exceed C",
    "upper-end-halved": "new values are kept below C/2 instead of C",
    "lower-end-lost": "new values may fall below 0",
    "boundary-off-by-one": "the increment of a window's last step is lost",
    "draws-off-by-one": "every draw is the next one of the index stream",
    "m-doubled": "m is counted twice",
    "lambda-doubled": "lambda is twice the requested one",
    "off-diagonal-dropped": "block systems are solved by their diagonals",
    "write-back-lost": "new values are not stored in alpha",
    # Steps: parts of the correction, repeated coordinates, further draws.
    "corrected-by-newest-increment-only": "the correction holds the newest increment only",
    "newest-increment-lost": "the correction lacks the newest increment",
    "corrected-by-first-increment-only": "the correction holds the first increment of the window only",
    "first-increment-lost": "the correction lacks the first increment of the window",
    "only-last-step-corrected": "the last step of a window is corrected, and no other",
    "last-step-uncorrected": "the last step of a window is not corrected",
    "correction with the wrong sign": "the correction is added to the residual instead of subtracted",
    "increments subtracted": "increments are subtracted from alpha instead of added",
    "increments of coordinates of earlier windows left out": (
        "the correction lacks increments of coordinates that earlier windows drew"
    ),
    "only the first own increment used": (
        "the correction holds the first of the coordinate's own increments only"
    ),
    "first own increment left out": "the correction lacks the first of the coordinate's own increments",
    "only the newest own increment used": (
        "the correction holds the newest of the coordinate's own increments only"
    ),
    "an upper limit C of K-SVM-L2": "values have the upper limit C, which K-SVM-L2 does not have",
    "omega of own increments left out": (
        "omega multiplies alpha of the window's start, without the coordinate's own increments"
    ),
    "newest own increment left out": "the correction lacks the newest of the coordinate's own increments",
    "repeated coordinate solved for once": (
        "a coordinate that a block holds twice has one row in the block system"
    ),
    "alpha of the window before": "products are formed from alpha of the window before",
    "kernel rows of the window before": "products are formed from the kernel rows of the window before",
    "kernel row of another coordinate": "products are formed from the kernel row of another coordinate",
    "small steps left out": "small increments are not made",
    "steps from one limit of the box to the other left out": (
        "steps from one limit of the box to the other are not made"
    ),
    "draws one place behind": "draws are those one place earlier in the index stream",
    "draws one place ahead": "draws are those one place later in the index stream",
    "draws of a window in reverse order": "each window makes its steps from its last draw to its first",
    "draws in reverse order": "draws are those of the index stream from its end to its start",
    "one iteration fewer": "the last iteration is not made, or leaves nothing",
    "one iteration more": "one more iteration is made",
    # Labels and lambda in single products.
    "label left out of the stale product": (
        "the stale product lacks the label of the drawn coordinate, or has it twice"
    ),
    "labels of alpha left out of the stale product": (
        "the stale product lacks the labels of alpha, or has them twice"
    ),
    "labels left out of the stale product": "the stale product lacks all labels, or has all twice",
    "label left out of the correction": (
        "the correction lacks the label of the drawn coordinate, or has it twice"
    ),
    "labels of increments left out of the correction": (
        "the correction lacks the labels of increments, or has them twice"
    ),
    "increments of the correction rounded to float32": "the correction rounds increments to float32",
    "labels left out of the correction": "the correction lacks all labels, or has all twice",
    "lambda left out of the newest correction": (
        "the kernel entries of the newest increment are not divided by lambda"
    ),
    "lambda left out of the correction": "kernel entries of the correction are not divided by lambda",
    # Parts of a step that have a factor.
    "omega in the curvature": "omega in the curvature",
    "omega in the curvature and the gradient": "omega in the curvature and in the gradient",
    "kernel entry in the curvature": "the kernel entry in the curvature",
    "diagonal of the block system": "the diagonal of the block system",
    "lambda in the block system": "lambda in the block system",
    "lambda in the right-hand side": "lambda in the right-hand side",
    "targets": "every target",
    "m in the stale residual": "m times alpha of the window's start",
    "lambda in the block system and the correction": "lambda in the block system and in the correction",
    "m in the block system and the overlap": "m in the block system and times own increments",
    "kernel entries left out of the block system and the correction": (
        "the block system and the correction hold m only, and no kernel entry"
    ),
    "kernel entries left out": "no step uses a kernel entry",
    "kernel entries left out of the block system": "the block system holds m only, and no kernel entry",
    "kernel entries left out of the right-hand side": (
        "the right-hand side lacks all products of kernel entries with alpha"
    ),
    "m in the right-hand side": "m in the right-hand side",
    EVERY_ENTRY: "m is added to every entry of a block system",
    ON_DIAGONAL: "m on the diagonal of the block system is replaced by 1 or 0",
    # Other problems.
    "labels inside the kernel": "the kernel takes samples that are multiplied by their labels",
    "labels inside and outside the kernel": "labels multiply the samples and the kernel entries",
    "K instead of Q": "kernel entries are not multiplied by labels",
    "omega doubled": "omega is 1/C, twice 1/(2C)",
    "omega halved": "omega is 1/(4C), half of 1/(2C)",
    "omega taken as 0": "omega is 0 in the curvature and in the gradient",
    "omega taken as C/2": "omega is C/2 instead of 1/(2C)",
    "the other loss": "the loss is the other one of K-SVM-L1 and K-SVM-L2",
    "alpha scaled by m": "alpha is m times the requested one",
    "alpha scaled by 1/lambda": "alpha is 1/lambda times the requested one",
    "m taken as 1": "the diagonal holds 1 instead of m",
    "lambda taken as 1": "lambda is 1",
    "sigma doubled": "sigma is twice the requested one",
    "linear instead of polynomial kernel": "kernel entries are those of the linear kernel",
    "linear instead of RBF kernel": "kernel entries are those of the linear kernel",
    "sigma halved": "sigma is half the requested one",
    "sigma taken as a width": "1/(2 sigma^2) is used instead of sigma",
    "degree one too small": "the degree is one too small",
    "degree one too large": "the degree is one too large",
    "offset taken as 0": "the offset of the polynomial kernel is 0",
    "features lost in the reduction": "the inner products lack some features",
    # Other kernel rows.
    "norms dropped": "the squared norms of the distance are missing",
    "kernel applied before the reduction": "the kernel function is applied to parts of a sum, then added",
    "m in every entry": "m is added to every kernel entry",
    "1 added to every kernel entry": "1 is added to every kernel entry",
    "a squared norm left out": "one squared norm of the distance is missing",
    "other squared norms": "the squared norms of the distance are others",
}
"""By name; of a part of a step that has a factor, what the factor multiplies."""

MISSING: dict[str, str] = {
    STALE: "the gradient lacks the product of the kernel row with alpha",
    CURVATURE: "steps are divided by twice their curvature",
    KERNEL: "the kernel correction for other coordinates is missing",
    SAME: "the kernel correction by the coordinate's own increments is missing",
    OVERLAP: MEANINGS["overlap-dropped"],
    OMEGA: MEANINGS["omega-dropped"],
    LABELS: MEANINGS["label-lost"],
    UPPER: MEANINGS["upper-end-lost"],
    LOWER: MEANINGS["lower-end-lost"],
    SAMPLES: MEANINGS["m-doubled"],
    PENALTY: MEANINGS["lambda-doubled"],
    OFF_DIAGONAL: MEANINGS["off-diagonal-dropped"],
    WRITE_BACK: MEANINGS["write-back-lost"],
    BOUNDARY: MEANINGS["boundary-off-by-one"],
    TAIL: MEANINGS["tail-lost"],
    STREAM: MEANINGS["draws-off-by-one"],
}
"""What it means that a quantity of a step is left out."""

MULTIPLIED: dict[str, str] = {
    STALE: "the product of the kernel row with alpha",
    CURVATURE: "the curvature (of K-RR the block system)",
    KERNEL: "the kernel correction",
    SAME: "the kernel correction by the coordinate's own increments",
    OVERLAP: "the sum of the coordinate's own increments",
    OMEGA: "omega",
    LABELS: "the label of the drawn coordinate",
    UPPER: "the upper limit C",
    SAMPLES: "m",
    PENALTY: "lambda",
    OFF_DIAGONAL: "the off-diagonal of the block system",
    WRITE_BACK: "every stored increment",
    BOUNDARY: "the increment of a window's last step",
    ON_DIAGONAL: "m on the diagonal of the block system",
    "kernel rows": "every kernel entry",
    "kernel rows or the 1 of the gradient": (
        "every kernel entry is multiplied by {0}, or the 1 of the gradient is divided by it"
    ),
    "sigma": "sigma",
}
"""What a factor multiplies, by the name without `OFF`; else the meaning of that name."""


USED: dict[tuple[str, str], tuple[str, str]] = {
    (quantity, symbol.format(p)): (p, used.format(p))
    for quantity, p in (
        (PENALTY, "lambda"), ("lambda in the block system", "lambda"),
        ("lambda in the right-hand side", "lambda"), ("sigma", "sigma"), (UPPER, "C"),
        (SAMPLES, "m"), (ON_DIAGONAL, "m"), ("m in the right-hand side", "m"),
        (OVERLAP, "m"), ("m in the stale residual", "m"), ("m in the block system and the overlap", "m"),
        ("lambda in the block system and the correction", "lambda"),
    )
    for symbol, used in (
        ("1/{0}^2", "1/{0}"), ("{0}", "{0}^2"), ("m", "m*{0}"), ("1/m", "{0}/m"), ("1/{0}", "1"),
    )
    if (p, used) not in (("m", "m*{0}"), ("m", "{0}/m"))
}  # fmt: skip
"""What is used instead of a parameter, by what is multiplied and the factor in symbols."""


ALTERNATIVE: dict[str, str] = {
    PENALTY: "lambda is multiplied by {0}, or every kernel entry is divided by it",
}
"""What has the very steps of a factor of no known symbol: a K-RR reads K/lambda, and neither by itself."""


NEAR_ONE = 5e-10
"""Distance from 1 of which 12 digits of a factor hold fewer than two."""


def number_of(factor: float) -> str:
    """Return a factor to 12 digits; one of which these would not say how far it is from 1 by that distance.

    Examples
    --------
    >>> number_of(0.5), number_of(1.000000001), number_of(1 - 2**-40)
    ('0.5', '1.000000001', '1 - 9.1e-13')
    """
    if factor == 1.0 or abs(factor - 1.0) > NEAR_ONE:
        return f"{factor:.12g}"
    return f"1 {'+' if factor > 1.0 else '-'} {abs(factor - 1.0):.2g}"


def meaning_of(name: str, factor: float | None = None, symbol: str = "") -> str:
    """Return what a defect is, in one line; its name where none is known, as in an older report.

    The `symbol` is the factor in symbols of the problem, if that is known.
    """
    quantity, size = name.removesuffix(OFF), "a factor" if factor is None else number_of(factor)
    if symbol:
        size += f" = {symbol}"
        if used := USED.get((quantity, symbol)):
            size += f", so {used[1]} is used instead of {used[0]}"
    scaled = name.endswith(OFF) or (factor is not None and name != EVERY_ENTRY)
    if scaled and (what := MULTIPLIED.get(quantity) or MEANINGS.get(quantity)):
        what = what if symbol else ALTERNATIVE.get(quantity, what)
        return (what if "{0}" in what else f"{what} is multiplied by {{0}}").format(size)
    return MISSING.get(name.removesuffix(LEFT_OUT)) or MEANINGS.get(name, name)
