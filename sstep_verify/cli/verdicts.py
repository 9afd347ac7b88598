"""A verdict in plain words (claim, what was found, what would have shown), and in all its numbers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from sstep_verify.quantities import QUANTITIES
from sstep_verify.report.words import compared_in_words, term_in_counts, term_why
from sstep_verify.verdict import ESTIMATED, LOG

STEPS, WINDOWS, OPTIMUM = "step-replay", "window-replay", "optimum"
"""Checks that have words of their own; commands do not load checks before they need them."""

NAMES = frozenset(quantity.name for quantity in QUANTITIES)
"""What a step has; other terms are defects that a check injects, of which nothing is left out."""

WIDTH = 100

MEANS = {
    "PASS": "no error was found, and the errors named below would have been",
    "FAIL": "the claim below does not hold: no correct implementation can be off by as much",
    "VACUOUS": "nothing was shown: no error was found, and none of the kind named below would have been",
    "INCONCLUSIVE": "neither could be shown, that the solver is correct or that it is faulty",
}

ESTIMATE = "the claim below does not hold, by an estimate of rounding that is not proved"
"""What a FAIL means whose bound is an estimate."""

CONTRADICTED = "what was recorded contradicts itself, so nothing was compared with the truth"
"""What a FAIL means of which no comparison was made, where the log leads to another alpha."""

UNUSABLE = "what was recorded is missing or cannot be used, so nothing was compared with the truth"
"""What any other FAIL means of which no comparison was made: a log that is not there or holds no number."""

OF_VECTORS = "A vector that was handed over is the optimum, up to the tolerance asked for."
"""The claim of the check optimum on such a vector: nothing was run."""

OF_A_VECTOR = {
    "PASS": "the vector is what it should be, up to the tolerance named below",
    "FAIL": "the vector is not what it should be, by more than the tolerance and all rounding allow",
    "VACUOUS": "nothing was shown of the vector: a faulty one would pass too, or its enclosure is too wide",
}
"""The same of a vector that was handed over, where nothing was run."""

NOT_COMPARED = {
    True: "the run ended with an error or without a usable result, so there was nothing to compare",
    False: "the run is not what was asked for, so nothing of it was compared with the truth",
}
"""What a FAIL of the check contract means: whether an error was raised."""

WORDS = {
    "window": "s iterations in a row, whose kernel rows are formed and communicated at once",
    "overlap": "a coordinate drawn again in the same window: its earlier increments belong to its value",
    "omega": "1/(2C), which the squared hinge loss (svm-l2) adds to the kernel's diagonal; 0 for svm-l1",
    "clip": "a new value outside the box is replaced by the nearest limit: 0, or C for svm-l1",
    "bound": "how far from the truth rounding can take a correct implementation, proved for this very run; "
    "of two runs that both leave the exact trajectory it is an estimate",
    "ratio": "the error measured over the bound; that of a FAIL is above 1",
    "detection_limit": "a relative error in a quantity of the step that this run would have shown, whether "
    "too large or too small by it; of steps every larger one too, of windows the error that was tried",
}


USED = {"detection_limit": r"errors (?:of \+|from|down to)"}
"""How a word is used in a text that does not name it, as a pattern."""


def filled(text: str, first: str = "  ") -> str:
    """A text in lines of `WIDTH`, indented by two blanks."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=max(first, "  ", key=len))


def _lines(text: str) -> str:
    """Each line of a text in lines of its own."""
    return "\n".join(filled(line) for line in text.splitlines())


def number(value: object) -> str:
    """A number in few digits; what JSON has no number for is said to be infinite or undefined."""
    if value is None:
        return "infinite or undefined"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def in_short(verdict: dict, claim: str) -> Iterator[str]:
    """Lines on one verdict, as ``Verdict.as_dict()`` has it, of a check with this claim."""
    from sstep_verify.checks.contract import ID as CONTRACT
    from sstep_verify.checks.shared.final_vector import ALONE

    alone = verdict["evidence"].get(ALONE, False)
    s = "" if alone else f", s = {verdict['s']}"
    yield f"{verdict['status']}: {verdict['check']} on {verdict['case']}{s}"
    if verdict["check"] == CONTRACT and verdict["status"] == "FAIL":
        yield filled(f"{NOT_COMPARED[bool(verdict['raised'])]}.")
        yield f"Claim\n{filled(claim)}\nReason\n{_lines(verdict['reason'])}"
        return
    means = MEANS | (OF_A_VECTOR if alone else {})
    nothing = verdict["status"] == "FAIL" and not verdict["executed"]
    if verdict["status"] == "FAIL" and verdict["bound_origin"] == ESTIMATED:
        means |= {"FAIL": ESTIMATE}
    none_made = CONTRADICTED if _leads_elsewhere(verdict["place"]) else UNUSABLE
    yield filled(f"{none_made if nothing else means[verdict['status']]}.")
    measured, bound, ratio = (number(verdict[name]) for name in ("measured", "bound", "ratio"))
    if verdict["status"] == "FAIL" and verdict["ratio"] is None:
        ratio = "infinite"
    numbers = f"measured {measured}, bound {bound} ({verdict['units']}): ratio {ratio}; "
    sections = {
        "Claim": OF_VECTORS if alone and verdict["check"] == OPTIMUM else claim,
        "Found": numbers * bool(verdict["executed"]) + f"{compared_in_words(verdict)}.",
        "Reason": verdict["reason"],
    }
    for title, text in sections.items():
        yield f"{title}\n{_lines(text)}"
    one = "vector would have shown" if alone else "run would have shown"
    if verdict["terms"]:
        yield f"Errors that this {one}"
    for term in verdict["terms"]:
        yield filled(f"{term['name']}: {_visible(term, verdict['check'])}", "    ")


def _leads_elsewhere(place: dict | None) -> bool:
    """Whether this is where a log leads to another number than the one recorded."""
    return place is not None and place["item"] == LOG and place["expected"] is not None


def _visible(term: dict, check: str) -> str:
    if not term["seen"]:
        why = term_why(term["why"], term["largest"])
        return f"none{': ' * bool(why)}{why}"
    counts = f"{term['seen']} of {term['decided']} comparisons"
    if term["detection_limit"] is None:  # A quantity that is there or is not, such as the index stream.
        return f"would show{' if left out' * (term['name'] in NAMES)}, in {counts}"
    size = number(term["detection_limit"])
    if check == WINDOWS:
        tried = f"errors of +{size} and -{size} were tried and would have shown"
        return f"{tried}. Leaving it out would show in {counts}"
    if check == STEPS:
        return f"relative errors from {size} on, of either sign. Leaving it out would show in {counts}"
    return f"relative errors down to {size}, in {counts}"


def glossary(said: str) -> Iterator[str]:
    """Lines on those words of a text that have a meaning of their own; nothing where there is none."""
    found = [word for word in WORDS if re.search(USED.get(word, rf"\b{word}s?\b"), said)]
    if found:
        yield "Words"
    for word in found:
        yield filled(f"{word}: {WORDS[word]}", "    ")


def in_numbers(kept, verdict: dict) -> Iterator[str]:
    """Lines on all numbers of a verdict that an artefact holds."""
    sections = {
        f"In this artefact: {verdict['status']}": [_lines(verdict["reason"])],
        "Measured and bound": _compared(verdict),
        "What enters the bound": [f"  {name}: {value}" for name, value in _entering(kept)],
        "Where the bound comes from": list(_shared_out(kept, verdict)),
        "Terms": list(terms(verdict)),
        "Evidence": list(_evidence(verdict["evidence"])),
    }
    for title, lines in sections.items():
        if lines:
            yield from ("", title, *lines)


def _compared(verdict: dict) -> list[str]:
    measured, bound, ratio = (number(verdict[name]) for name in ("measured", "bound", "ratio"))
    origin = verdict["bound_origin"]
    derived = [f"  the bound is derived in sstep_verify/{origin}.py"] if origin else []
    return [
        f"  measured {measured}, bound {bound} ({verdict['units']})",
        *derived,
        f"  ratio = measured / bound = {ratio}; FAIL only if above 1",
        f"  {compared_in_words(verdict)}",
    ]


def _entering(kept):
    """The numbers and declarations that bounds are made from, as (name, value)."""
    from sstep_verify.declaration import ASSUMED
    from sstep_verify.rounding.arithmetic import unit_roundoff

    case, declared = kept.case, kept.case.declaration
    problem, stream = case.problem, case.stream
    yield "problem", f"{problem.label}, m = {problem.samples}, n = {problem.features}"
    yield "index stream", f"{stream.kind}, seed {stream.seed}, b = {stream.block}; s = {kept.s}"
    yield "precision", f"{declared.precision}, u = {unit_roundoff(declared.precision):.3g}"
    yield "update", declared.update
    yield "formulas", f"rbf by {declared.rbf}; {ASSUMED}"
    if not problem.is_svm:
        yield "block systems", declared.factorisation
    for key, run in kept.trajectories.items():
        recorded = f"recorded at {run.iterations.size} iterations, {run.alphas.dtype}"
        yield f"run {key}", f"iterations {run.start + 1}..{run.start + run.length}, {recorded}"


def _shared_out(kept, verdict: dict):
    """The bound of the replayed window with the largest ratio, source by source."""
    from sstep_verify.checks.shared.case import run_key
    from sstep_verify.checks.window.bound_parts import explain_window
    from sstep_verify.checks.window.screen import made_again

    windows = verdict["evidence"].get("windows", []) if verdict["check"] == "window-replay" else []
    replayed = [window for window in windows if "from_data" in window]  # Another is of the screen alone.
    if not replayed:
        return
    ratios = [window["from_data"]["ratio"] for window in replayed]
    # A ratio that JSON has no number for is infinite.
    window = replayed[ratios.index(None) if None in ratios else ratios.index(max(ratios))]
    begin, end = window["begin"], window["end"]
    plain = kept.trajectories[run_key(kept.s)]
    runs = [plain, *made_again(kept.case, kept.s, plain, kept.trajectories)]
    # A window without tags is one that the screen flagged, of a run made again.
    run = next(run for run in runs[:: 1 if window["tags"] else -1] if {begin, end} <= {*run.iterations})
    found = explain_window(kept.case, run, begin, end)
    where = f"window of iterations {begin + 1}..{end}, largest ratio"
    if found is None:
        yield f"  {where}: alpha is not finite there, the bound is infinite, or weights are maintained"
        return
    ratio = found.measured / found.bound
    yield f"  {where}, kernel from the data; {found.where}:"
    yield f"  measured {found.measured:.6g}, bound {found.bound:.6g}, ratio {ratio:.6g}"
    yield from _rows([("source", "contribution", "share of the bound")])
    parts = sorted(found.parts.items(), key=lambda part: -part[1])
    yield from _rows((name, f"{part:.3g}", f"{part / found.bound:.1%}") for name, part in parts)
    if limits := window["from_data"].get("detection_limit", {}):
        yield from _rows([("term of the recurrence", "detection_limit", "")])
    yield from _rows((name, number(value), "") for name, value in limits.items())


def _rows(cells):
    for name, one, other in cells:
        yield f"    {name:<60}{one:>23}{other:>23}".rstrip()


def terms(verdict: dict) -> Iterator[str]:
    """Lines on the quantities of a step: how many comparisons would have shown an error in each."""
    for term in verdict["terms"]:
        limit = term["detection_limit"]
        least = "" if limit is None else f", detection limit {number(limit)}"
        tested = "tested" if term["seen"] else "not tested"
        yield f"  {term['name']}: {tested}{least}; {term_in_counts(term)}"


def _evidence(evidence: dict):
    for name, value in evidence.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            yield f"  {name}"
            yield from (f"    {_words(item)}" for item in value)
        else:
            yield f"  {name}: {_words(value)}"


def _words(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return "[" + ", ".join(map(_words, value)) + "]"
    return number(value)
