"""A verdict in plain words: the claim, what was found, what could have been seen, and the words used."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

WIDTH = 100

MEANS = {
    "PASS": "no error was found, and the errors named below would have been",
    "FAIL": "the run is further from the truth than any correct implementation can be",
    "VACUOUS": "no error was found, but the error that this check plants would not have been found either",
    "INCONCLUSIVE": "neither right nor wrong could be shown",
}

OF_A_VECTOR = {
    "PASS": "the vector is what it should be, up to the tolerance that was stated",
    "FAIL": "the vector is not what it should be, by more than the tolerance and all rounding allow",
}
"""The same of a vector that was handed over, where nothing was run."""

NOT_COMPARED = {
    True: "the solver ended with an error before its run was made, so there was nothing to compare",
    False: "the run is not what was asked for, so nothing of it was compared with the truth",
}
"""What a FAIL of the check contract means: whether an error was raised."""

WORDS = {
    "window": "s iterations in a row, whose kernel rows are formed and communicated at once",
    "overlap": "a coordinate drawn again in the same window: its earlier increments belong to its value",
    "omega": "1/(2C), which the squared hinge loss (svm-l2) adds to the kernel's diagonal; 0 for svm-l1",
    "clip": "a new value outside the box is put on its nearest end: 0, or C for svm-l1",
    "bound": "how far from the truth rounding can take a correct implementation, proved for this very run",
    "ratio": "the error measured over the bound; a FAIL is a ratio above 1",
    "detection_limit": "smallest relative error in a quantity of the step that this run would have shown",
}


def filled(text: str, first: str = "  ") -> str:
    """A text in lines of `WIDTH`, indented by two blanks."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=max(first, "  ", key=len))


def number(value: object) -> str:
    """A number in few digits; what JSON has no number for is said to be infinite or undefined."""
    if value is None:
        return "infinite or undefined"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def in_short(verdict: dict, claim: str) -> Iterator[str]:
    """Lines on one verdict.

    Parameters
    ----------
    verdict : dict
        ``Verdict.as_dict()``.
    claim : str
        What its check claims.
    """
    yield f"{verdict['status']}: {verdict['check']} on {verdict['case']}, s = {verdict['s']}"
    from sstep_verify.checks.contract import CHECK as CONTRACT
    from sstep_verify.checks.shared.final_vector import ALONE
    from sstep_verify.trajectory import RAISED

    if verdict["check"] == CONTRACT and verdict["status"] == "FAIL":
        yield filled(f"{NOT_COMPARED[RAISED in verdict['evidence']]}.")
        yield f"Claim\n{filled(claim)}\nReason\n{filled(verdict['reason'])}"
        return
    means = MEANS | (OF_A_VECTOR if verdict["evidence"].get(ALONE) else {})
    yield filled(f"{means[verdict['status']]}.")
    measured, bound, ratio = (number(verdict[name]) for name in ("measured", "bound", "ratio"))
    sections = {
        "Claim": claim,
        "Found": f"measured {measured}, bound {bound} ({verdict['units']}): ratio {ratio}; "
        f"{verdict['executed']} of {verdict['planned']} comparisons were made.",
        "Reason": verdict["reason"],
    }
    for title, text in sections.items():
        yield f"{title}\n{filled(text)}"
    yield "Errors that this run would have shown, by quantity of a step"
    for term in verdict["terms"]:
        yield filled(f"{term['name']}: {_visible(term)}", "    ")


def _visible(term: dict) -> str:
    if not term["seen"]:
        return f"none{': ' + term['reason'] if term['reason'] else ''}"
    counts = f"{term['seen']} of {term['decided']} comparisons"
    if term["detection_limit"] is None:  # A quantity that is there or is not, such as the index stream.
        return f"left out, in {counts}"
    return f"relative errors down to {number(term['detection_limit'])}, in {counts}"


def glossary() -> Iterator[str]:
    """Lines on the words that verdicts use."""
    yield "Words"
    for word, meaning in WORDS.items():
        yield filled(f"{word}: {meaning}", "    ")
