"""``sstep-verify explain``: the claim of a check and its bound; the verdict of an artefact, or it again."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from sstep_verify.cli.options.values import checks, complete
from sstep_verify.cli.plain_words import filled, glossary, in_short, number

if TYPE_CHECKING:
    from sstep_verify.checks.shared.check import Check


@click.command("explain")
@click.argument("check", required=False, shell_complete=complete(checks))
@click.argument("artefact", required=False, type=click.Path())
@click.option(
    "--long", "in_full", is_flag=True, help="Add methods, derivations of the bounds, all numbers."
)
@click.option("--again", is_flag=True, help="Judge an artefact again, without the solver.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything.")
def command(check, artefact, in_full, again, as_json):
    """Explain a check, or a verdict.

    With nothing the checks are listed. With CHECK: its claim, what it needs, the defect that it must
    find, what VACUOUS means for it, the sentences of the specification that it decides. With an
    ARTEFACT, a folder that a report holds under artefacts/: what was found there, in plain words; CHECK
    need not be named.

    With --again the verdict of ARTEFACT is made anew from what it holds (problem, index stream, runs) and
    compared with the stored one; neither the solver nor its data set is needed.

    Exit codes: 0 explained; 2 the artefact is incomplete or was changed. With --again: 0 no FAIL; 1 FAIL;
    3 inconclusive; 4 another verdict than the stored one.
    """
    from sstep_verify.checks.registry import CHECKS, checks_of
    from sstep_verify.errors import InputError

    if check is not None and artefact is None and _is_path(check, tuple(CHECKS)):
        check, artefact = None, check
    if again and artefact is None:
        raise InputError(
            "--again judges an artefact again: name a folder that a report holds under artefacts/"
        )
    if again and in_full:
        raise InputError("--again says every number as it is: leave out --long")
    if again:
        _judge_again(_read(check, artefact, "--again"), as_json)
    elif artefact is not None:
        _explain_artefact(_read(check, artefact), artefact, in_full, as_json)
    elif check is not None:
        (declared,) = checks_of((check,))
        if as_json:
            _print_json(_explanation(declared))
        else:
            _show(declared, in_full)
    elif as_json:
        _print_json({name: declared.claim for name, declared in CHECKS.items()})
    else:
        for name, declared in CHECKS.items():
            click.echo(f"{name}\n{filled(declared.claim)}")


def _explanation(declared: Check) -> dict[str, object]:
    """A check as plain values."""
    names = "claim", "method", "needs", "derivations", "planted", "vacuous"
    values = {name: getattr(declared, name) for name in names}
    return {"check": declared.id, **values, "sentences": _sentences(declared)}


def _sentences(declared: Check) -> dict[str, str]:
    """The sentences of the specification that a check decides, by number."""
    from sstep_verify.specification import decided_by

    return {sentence.number: sentence.text for sentence in decided_by(declared.id)}


def _is_path(word: str, checks: tuple[str, ...]) -> bool:
    return word not in checks and (os.sep in word or word == "." or os.path.lexists(word))


def _explain_artefact(kept, folder: str, in_full: bool, as_json: bool) -> None:
    from sstep_verify.checks.contract import CHECK as CONTRACT
    from sstep_verify.checks.registry import checks_of

    (declared,) = checks_of((kept.check,))
    replay = f"sstep-verify explain --again {shlex.quote(folder)}"
    if as_json:
        more = {"verdicts": kept.verdicts, "again": replay, "explanation": _explanation(declared)}
        _print_json({**_head(kept), **more})
        return
    if in_full:
        _show(declared, True)
    for verdict in kept.verdicts:
        if in_full:
            _show_numbers(kept, verdict)
        else:
            for line in in_short(verdict, declared.claim):
                click.echo(line)
    click.echo(f"\nAgain\n  offline: {replay}" if in_full else f"Again\n  offline: {replay}")
    click.echo(f"  with the solver: {kept.case.replay_command or 'no command was kept'}")
    if not in_full:
        for line in glossary() if kept.check != CONTRACT else ():
            click.echo(line)
        click.echo(f"All numbers and derivations: sstep-verify explain {shlex.quote(folder)} --long")


def _read(check: str | None, folder: str, *option: str):
    from sstep_verify.campaign.artefact import read_artefact
    from sstep_verify.errors import InputError

    kept = read_artefact(folder)
    if check not in (None, kept.check):
        raise InputError(
            f"{folder}: is an artefact of the check {kept.check}, not of {check}; "
            f"use: {shlex.join(['sstep-verify', 'explain', *option, folder])}"
        )
    return kept


def _judge_again(kept, as_json: bool) -> None:
    """Judge an artefact again, say what came of it, and end with its exit code."""
    from threadpoolctl import threadpool_limits

    from sstep_verify.campaign.artefact.again import rejudge
    from sstep_verify.reporting.plain import plain

    with threadpool_limits(1):
        rejudged = rejudge(kept)
    if as_json:
        new = {
            "verdicts": [verdict.as_dict() for verdict in rejudged.verdicts],
            "exit_code": rejudged.exit_code,
        }
        same = {"disagreements": rejudged.disagreements, "differences": rejudged.differences}
        _print_json(plain({**_head(kept), "stored": kept.verdicts, **new, **same}))
        sys.exit(rejudged.exit_code)
    for verdict in rejudged.verdicts:
        click.echo(
            f"{verdict.status} {verdict.check} on {verdict.case}, s = {verdict.s}, b = {verdict.block}\n"
            f"  ratio {verdict.ratio:.6g} = measured {verdict.measured:.6g} / bound {verdict.bound:.6g} "
            f"({verdict.units}); {verdict.executed} of {verdict.planned} comparisons"
        )
        for line in _terms(verdict.as_dict()):
            click.echo(line)
        click.echo(f"  {verdict.reason}")
    agreement = "agrees in every number"
    if rejudged.disagreements:
        agreement = "DISAGREES"
    elif rejudged.differences:
        agreement = "agrees, with other numbers (another machine, library or version)"
    stored = ", ".join(str(verdict["status"]) for verdict in kept.verdicts)
    click.echo(f"stored verdict (version {kept.version}): {stored}; the new verdict {agreement}")
    for line in (*rejudged.disagreements, *rejudged.differences):
        click.echo(f"  {line}")
    click.echo(f"with the solver: {kept.case.replay_command or 'no command was kept'}")
    sys.exit(rejudged.exit_code)


def _head(kept) -> dict[str, object]:
    """Whose verdict an artefact holds, and how its solver is run again."""
    return {
        "check": kept.check, "case": kept.case.id, "s": kept.s, "version": kept.version,
        "run": kept.case.replay_command,
    }  # fmt: skip


def _print_json(document: object) -> None:
    click.echo(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))


def _show(declared: Check, in_full: bool) -> None:
    click.echo(declared.id)
    _section("Claim", filled(declared.claim))
    if in_full:
        _section("Method", textwrap.indent(declared.method, "  "))
    _section("Needs", filled(declared.needs))
    if in_full:
        for path, text in declared.derivations.items():
            _section(f"Bound: {path}", textwrap.indent(text, "  "))
    elif declared.bounds:
        paths = ", ".join(declared.derivations)
        _section("Bound", filled(f"Derived in {paths}; --long prints the derivations."))
    if not declared.bounds:
        zero = "0: what is compared must agree exactly, for the reason that the claim and the method give."
        _section("Bound", filled(zero))
    _section("Planted defect", filled(declared.planted))
    _section("VACUOUS", filled(declared.vacuous))
    sentences = (filled(f"{number}: {text}") for number, text in _sentences(declared).items())
    _section("Sentences of the specification that it decides", "\n".join(sentences))


def _section(title: str, text: str) -> None:
    if text:
        click.echo(f"\n{title}\n{text}")


def _show_numbers(kept, verdict: dict) -> None:
    _section(f"In this artefact: {verdict['status']}", filled(verdict["reason"]))
    _section("Measured and bound", "\n".join(_compared(verdict)))
    _section("What enters the bound", "\n".join(f"  {name}: {value}" for name, value in _entering(kept)))
    _section("Where the bound comes from", "\n".join(_shared_out(kept, verdict)))
    _section("Terms", "\n".join(_terms(verdict)))
    _section("Evidence", "\n".join(_evidence(verdict["evidence"])))


def _compared(verdict: dict) -> list[str]:
    measured, bound, ratio = (number(verdict[name]) for name in ("measured", "bound", "ratio"))
    return [
        f"  measured {measured}, bound {bound} ({verdict['units']})",
        f"  ratio = measured / bound = {ratio}; FAIL iff above 1",
        f"  comparisons: {verdict['executed']} executed of {verdict['planned']} planned",
    ]


def _entering(kept):
    """The numbers and declarations that bounds are made from, as (name, value)."""
    from sstep_verify.rounding.arithmetic import unit_roundoff

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
    from sstep_verify.checks.shared.case import run_key
    from sstep_verify.checks.window.compare import explain_window
    from sstep_verify.checks.window.screen import made_again

    windows = verdict["evidence"].get("windows", []) if verdict["check"] == "window-replay" else []
    replayed = [window for window in windows if "from data" in window]  # Another is of the screen alone.
    if not replayed:
        return
    window = max(replayed, key=lambda one: _largest_first(one["from data"]["ratio"]))
    begin, end = window["begin"], window["end"]
    plain = kept.trajectories[run_key(kept.s)]
    runs = [plain, *made_again(kept.case, kept.s, plain, kept.trajectories)]
    # A window without tags is one that the screen flagged, of a run made again.
    run = next(run for run in runs[:: 1 if window["tags"] else -1] if {begin, end} <= {*run.iterations})
    found = explain_window(kept.case, run, begin, end)
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
    data, panel = (
        window.get(f"from {source}", {}).get("detection_limit", {}) for source in ("data", "panel")
    )
    if data:
        yield from _rows([("term of the recurrence", "detection_limit", "from the panel" if panel else "")])
    yield from _rows(
        (name, number(value), number(panel[name]) if name in panel else "") for name, value in data.items()
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
        seen = f"detection limit {number(term['detection_limit'])}"
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
    return number(value)
