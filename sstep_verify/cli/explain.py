"""``sstep-verify explain``: what a check claims, how its bound is derived, what an artefact holds."""

from __future__ import annotations

import math
import shlex
import textwrap

import click

WIDTH = 100


@click.command("explain")
@click.argument("check", required=False)
@click.argument("artefact", required=False, type=click.Path())
def command(check, artefact):
    """Explain a check.

    Without CHECK the checks are listed. With CHECK: its claim, what it needs, its bound with the
    derivation, what VACUOUS means for it, its planted defect. With an ARTEFACT, a folder that a report
    holds under artefacts/, the numbers of that verdict are filled in.
    """
    from sstep_verify.checks.explanations import explain, known_checks

    if check is None:
        for name in known_checks():
            click.echo(f"{name}\n{_indented(explain(name).claim)}")
        return
    explanation = explain(check)
    kept = _read(check, artefact) if artefact else None
    _show(explanation)
    if kept is not None:
        for verdict in kept.verdicts:
            _show_numbers(kept, verdict)
        click.echo(f"\nAgain\n  offline: sstep-verify replay {shlex.quote(artefact)}")
        click.echo(f"  with the solver: {kept.case.replay_command or 'no command was kept'}")


def _read(check: str, folder: str):
    from sstep_verify.campaign.artefact import read_artefact
    from sstep_verify.errors import InputError

    kept = read_artefact(folder)
    if kept.check != check:
        raise InputError(
            f"{folder}: is an artefact of the check {kept.check}, not of {check}; "
            f"use: sstep-verify explain {kept.check} {folder}"
        )
    return kept


def _show(explanation) -> None:
    click.echo(explanation.check)
    _section("Claim", _indented(explanation.claim))
    _section("Method", textwrap.indent(explanation.method, "  "))
    _section("Needs", _indented(explanation.needs))
    for path, text in explanation.derivations.items():
        _section(f"Bound: {path}", textwrap.indent(text, "  "))
    if not explanation.derivations:
        zero = "0: what is compared must agree exactly, for the reason that the claim and the method give."
        _section("Bound", _indented(zero))
    _section("Planted defect", _indented(explanation.planted))
    _section("VACUOUS", _indented(explanation.vacuous))


def _section(title: str, text: str) -> None:
    if text:
        click.echo(f"\n{title}\n{text}")


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _show_numbers(kept, verdict: dict) -> None:
    _section(f"In this artefact: {verdict['status']}", _indented(verdict["reason"]))
    _section("Measured and bound", "\n".join(_compared(verdict)))
    _section("What enters the bound", "\n".join(f"  {name}: {value}" for name, value in _entering(kept)))
    _section("Where the bound comes from", "\n".join(_shared_out(kept, verdict)))
    _section("Terms", "\n".join(_terms(verdict)))
    _section("Evidence", "\n".join(_evidence(verdict["evidence"])))


def _compared(verdict: dict) -> list[str]:
    measured, bound, ratio = (_number(verdict[name]) for name in ("measured", "bound", "ratio"))
    return [
        f"  measured {measured}, bound {bound} ({verdict['units']})",
        f"  ratio = measured / bound = {ratio}; FAIL iff above 1",
        f"  comparisons: {verdict['executed']} executed of {verdict['planned']} planned",
    ]


def _entering(kept):
    """The numbers and declarations that bounds are made from, as (name, value)."""
    from sstep_verify.bounds.rounding import unit_roundoff

    case, declared = kept.case, kept.case.declaration
    problem, stream = case.problem, case.stream
    yield "problem", f"{problem.label}, m = {problem.samples}, n = {problem.features}"
    yield "index stream", f"{stream.kind}, seed {stream.seed}, b = {stream.block}; s = {kept.s}"
    yield "precision", f"{declared.precision}, u = {unit_roundoff(declared.precision):.3g}"
    yield "update", f"{declared.update}, increments {declared.increments}"
    ulps = f"exp and pow within {declared.function_ulps:g} ulps"
    yield "formulas", f"rbf by {declared.rbf}, power by {declared.power}, {ulps}"
    if not problem.is_svm:
        yield "block systems", declared.factorisation
    for key, run in kept.trajectories.items():
        recorded = f"recorded at {run.iterations.size} iterations, {run.alphas.dtype}"
        yield f"run {key}", f"iterations {run.start + 1}..{run.start + run.length}, {recorded}"


def _shared_out(kept, verdict: dict):
    """The bound of the replayed window with the largest ratio, source by source."""
    from sstep_verify.checks.case import run_key
    from sstep_verify.checks.window.explained import explain_window

    windows = verdict["evidence"].get("windows", []) if verdict["check"] == "window-replay" else []
    if not windows:
        return
    window = max(windows, key=lambda one: _largest_first(one["from data"]["ratio"]))
    begin, end = window["begin"], window["end"]
    found = explain_window(kept.case, kept.trajectories[run_key(kept.s)], begin, end)
    where = f"window of iterations {begin + 1}..{end}, largest ratio"
    if found is None:
        yield f"  {where}: a is not finite there, the bound is infinite, or a state is carried beside a"
        return
    ratio = found.measured / found.bound
    yield f"  {where}, kernel from the data; {found.where}:"
    yield f"  measured {found.measured:.6g}, bound {found.bound:.6g}, ratio {ratio:.6g}"
    yield from _rows([("source", "contribution", "share of the bound")])
    parts = sorted(found.parts.items(), key=lambda part: -part[1])
    yield from _rows((name, f"{part:.3g}", f"{part / found.bound:.1%}") for name, part in parts)
    data, panel = (window.get(f"from {source}", {}).get("detectable", {}) for source in ("data", "panel"))
    if data:
        yield from _rows([("term of the recurrence", "detectable", "from the panel" if panel else "")])
    yield from _rows(
        (name, _number(value), _number(panel[name]) if name in panel else "")
        for name, value in data.items()
    )


def _largest_first(ratio: float | None) -> float:
    """A ratio that JSON has no number for is infinite."""
    return math.inf if ratio is None else ratio


def _rows(cells):
    for name, one, other in cells:
        yield f"    {name:<60}{one:>23}{other:>23}".rstrip()


def _terms(verdict: dict):
    for term in verdict["terms"]:
        counts = f"seen in {term['seen']} of {term['decided']} decided, {term['planned']} planned"
        seen = f"detectable relative error {_number(term['detectable'])}"
        reason = f": {term['reason']}" if term["reason"] else ""
        yield f"  {term['name']}: {'seen' if term['seen'] else 'not seen'}, {seen}; {counts}{reason}"


def _evidence(evidence: dict):
    for name, value in evidence.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            yield f"  {name}"
            yield from (f"    {_words(item)}" for item in value)
        else:
            yield f"  {name}: {_words(value)}"


def _words(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(map(_words, value)) + "]"
    return _number(value)


def _number(value) -> str:
    """A number in few digits; what JSON has no number for is said to be infinite or undefined."""
    if value is None:
        return "infinite or undefined"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
