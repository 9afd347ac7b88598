"""``sstep-verify explain``: the claim of a check and its bound; the verdict of an artefact, or it again."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sstep_verify.cli.options import checks, complete, folder_option, jobs_option, print_json, processors
from sstep_verify.cli.topics import TOPICS
from sstep_verify.cli.verdicts import filled, glossary, in_numbers, in_short, terms
from sstep_verify.errors import InputError, closest, counted

if TYPE_CHECKING:
    from sstep_verify.checks.shared.case import Check
    from sstep_verify.specification import Sentence


@click.command("explain")
@click.argument(
    "check",
    required=False,
    metavar="[CHECK | TOPIC | REQUIREMENT]",
    shell_complete=complete(lambda: (*checks(), *TOPICS)),
)
@click.argument("artefacts", nargs=-1, metavar="[ARTEFACT]", type=click.Path())
@click.option(
    "--long", "in_full", is_flag=True, help="Add methods, derivations of the bounds, all numbers."
)
@click.option("--again", is_flag=True, help="Judge an artefact or a report again, without the solver.")
@folder_option
@jobs_option(", for a report")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with everything.")
def command(check, artefacts, in_full, again, directory, jobs, as_json):
    """Explain a check, a topic, a requirement, or a verdict.

    Without arguments, all checks and topics are listed. CHECK: its claim, what it needs, the defect that
    it must find, what VACUOUS means for it, the requirements of the specification that it decides.
    TOPIC: a page of the documentation (run-folder, program-file, specification, exit-codes). REQUIREMENT:
    one of the specification by its number (S-3.5), and the checks that decide it. ARTEFACT, a
    folder that a report holds under artefacts/: what was found there, in plain words; CHECK need not be
    named. Several artefacts: a line for each verdict.

    With --again the verdict of ARTEFACT is made again from what it holds (problem, index stream, runs) and
    compared with the stored one; neither the solver nor its data set is needed.

    --again REPORT, a folder that `check --keep-runs` or `run --keep-runs` wrote, makes every verdict, the
    summary and results.json again from the kept runs, and compares all with what the folder holds.

    Exit codes: 0 explained; 2 the artefact is incomplete or was changed. With --again: 0 no FAIL; 1 FAIL;
    3 inconclusive; 4 another verdict than the stored one. With --again REPORT: 0 equal, whatever the report
    says; 4 something in it is not what the runs give; 2 it holds no runs, or one was changed.
    """
    from sstep_verify.checks.registry import CHECKS

    if check in TOPICS and not artefacts and not os.path.lexists(check):
        topic = TOPICS[check]
        if as_json:
            print_json({"topic": check, "text": topic.text})
        else:
            click.echo(topic.text, nl=False)
        return
    free = not (artefacts or again or os.path.lexists(check or ""))
    if free and (required := _requirement(check)):
        _show_requirement(required, as_json)
        return
    named = artefacts if check in CHECKS or not os.path.lexists(check or "") else (check, *artefacts)
    if len(named) > 1 and not (again or in_full or as_json):
        _list_artefacts(check if check in CHECKS else None, named)
        return
    if len(named) > 1:
        options = {"--again": again, "--long": in_full, "--json": as_json}
        chosen = [option for option, on in options.items() if on]
        words = ["sstep-verify", "explain", *chosen, named[0]]
        raise InputError(
            f"{len(named)} artefacts are named, but one is explained at a time: {shlex.join(words)}"
        )
    artefact: Any = artefacts[0] if artefacts else None
    alone = check if artefact is None and check not in CHECKS else None
    if alone is not None and (again or os.sep in alone or alone == "." or os.path.lexists(alone)):
        check, artefact = None, alone
    if again and artefact is None:
        raise InputError(
            "--again judges an artefact again: name a folder that a report holds under artefacts/, or the "
            "folder of a report with kept runs"
        )
    if again and in_full:
        raise InputError("--again says every number as it is: leave out --long")
    of_report = artefact is not None and os.path.lexists(os.path.join(artefact, "results.json"))
    if of_report and not again:
        artefacts_of, whole = os.path.join(artefact, "artefacts"), ["sstep-verify", "explain", "--again"]
        raise InputError(
            f"{artefact}: is a report; name a folder under {artefacts_of}, or make a report with kept runs "
            f"again: {shlex.join([*whole, artefact])}"
        )
    if again and not of_report and os.path.lexists(os.path.join(artefact, "campaign.json")):
        report = os.path.dirname(os.path.abspath(artefact))
        raise InputError(
            f"{artefact}: holds the kept runs of a report, which is named itself: "
            f"{shlex.join(['sstep-verify', 'explain', '--again', report])}"
        )
    if of_report:
        _prove_again(artefact, directory, jobs, as_json)
    elif again:
        _judge_again(_read(check, artefact, "--again"), as_json)
    elif artefact is not None:
        _explain_artefact(_read(check, artefact), artefact, in_full, as_json)
    elif check is not None:
        if check not in CHECKS:
            raise _unknown(check, list(CHECKS))
        declared = CHECKS[check]
        if as_json:
            print_json(_explanation(declared))
        else:
            _show(declared, in_full)
    elif as_json:
        print_json({name: declared.claim for name, declared in CHECKS.items()})
    else:
        for name, declared in CHECKS.items():
            click.echo(f"{name}\n{filled(declared.claim)}")
        click.echo("\nTopics")
        for name, topic in TOPICS.items():
            click.echo(f"{name}\n{filled(topic.says)}")


def _unknown(word: str, checks: list[str]) -> InputError:
    """The error of a word that is nothing to explain, with all that is."""
    from sstep_verify.specification import specification

    numbers = [one.number for one in specification().sentences]
    meant = closest(word, [*checks, *TOPICS])
    return InputError(
        f"{word!r} is no check, topic, requirement or artefact{meant}; "
        f"checks: {', '.join(sorted(checks))}; topics: {', '.join(TOPICS)}; "
        f"requirements: {numbers[0]} to {numbers[-1]}, listed by: sstep-verify explain specification"
    )


def _requirement(word: str | None) -> Sentence | None:
    """The requirement of a number such as S-3.5; None if a word is none."""
    from sstep_verify.specification import specification

    return next((one for one in specification().sentences if one.number == (word or "").upper()), None)


def _show_requirement(required: Sentence, as_json: bool) -> None:
    """Print a requirement of the specification, and the checks that decide it."""
    if as_json:
        known = {"checks": required.checks, "undecided": required.undecided}
        print_json({"requirement": required.number, "text": required.text, **known})
        return
    click.echo(f"{required.number}\n{filled(required.text)}")
    decided = f"{', '.join(required.checks)}{required.limit}" if required.checks else required.undecided
    _section("Checks that decide it", filled(decided))


def _explanation(declared: Check) -> dict[str, object]:
    """A check as plain values."""
    names = "claim", "method", "needs", "derivations", "planted", "vacuous"
    values = {name: getattr(declared, name) for name in names}
    return {"check": declared.id, **values, "sentences": _sentences(declared)}


def _sentences(declared: Check) -> dict[str, str]:
    """The sentences of the specification that a check decides, by number, and where it does so only."""
    from sstep_verify.specification import decided_by

    return {sentence.number: sentence.text + sentence.limit for sentence in decided_by(declared.id)}


def _explain_artefact(kept, folder: str, in_full: bool, as_json: bool) -> None:
    from sstep_verify.checks.contract import ID as CONTRACT
    from sstep_verify.checks.registry import checks_of

    (declared,) = checks_of((kept.check,))
    replay = f"sstep-verify explain --again {shlex.quote(folder)}"
    if as_json:
        more = {"verdicts": kept.verdicts, "again": replay, "explanation": _explanation(declared)}
        print_json({**_head(kept), **more})
        return
    if in_full:
        _show(declared, True)
    said = [
        line
        for verdict in kept.verdicts
        for line in (in_numbers(kept, verdict) if in_full else in_short(verdict, declared.claim))
    ]
    for line in said:
        click.echo(line)
    if in_full:
        click.echo()
    click.echo(f"Again\n  offline: {replay}")
    click.echo(f"  {_with(kept)}")
    if not in_full:
        for line in () if kept.check == CONTRACT or _is_of_a_vector(kept) else glossary("\n".join(said)):
            click.echo(line)
        click.echo(f"All numbers and derivations: sstep-verify explain {shlex.quote(folder)} --long")


def _list_artefacts(check: str | None, folders: Sequence[str]) -> None:
    """Print a line for each verdict of several artefacts; none where one of them cannot be read."""
    said = [
        f"{next(in_short(verdict, ''))}: {[*verdict['reason'].splitlines(), ''][0]}"
        for folder in folders
        for verdict in _read(check, folder).verdicts
    ]
    for line in said:
        click.echo(line)
    click.echo(f"more: sstep-verify explain {shlex.quote(folders[0])}")


def _read(check: str | None, folder: str, *option: str):
    from sstep_verify.campaign.artefact.files import read_artefact

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

    from sstep_verify.campaign.artefact.verdicts import rejudge
    from sstep_verify.report.plain import plain
    from sstep_verify.report.words import compared_in_words

    with threadpool_limits(1):
        rejudged = rejudge(kept)
    if as_json:
        new = {
            "verdicts": [verdict.as_dict() for verdict in rejudged.verdicts],
            "exit_code": rejudged.exit_code,
        }
        same = {"disagreements": rejudged.disagreements, "differences": rejudged.differences}
        print_json(plain({**_head(kept), "stored": kept.verdicts, **new, **same}))
        sys.exit(rejudged.exit_code)
    for verdict in rejudged.verdicts:
        of_run = "" if _is_of_a_vector(kept) else f", s = {verdict.s}, b = {verdict.block}"
        click.echo(
            f"{verdict.status} {verdict.check} on {verdict.case}{of_run}\n"
            f"  ratio {verdict.ratio:.6g} = measured {verdict.measured:.6g} / bound {verdict.bound:.6g} "
            f"({verdict.units}); {compared_in_words(verdict.as_dict())}"
        )
        for line in terms(verdict.as_dict()):
            click.echo(line)
        click.echo(textwrap.indent(verdict.reason, "  "))
    agreement = "agrees in every number"
    if rejudged.disagreements:
        agreement = "DISAGREES"
    elif rejudged.differences:
        agreement = "agrees, with other numbers (another machine, library or version)"
    stored = ", ".join(str(verdict["status"]) for verdict in kept.verdicts)
    click.echo(f"stored verdict (version {kept.version}): {stored}; the new verdict {agreement}")
    for line in (*rejudged.disagreements, *rejudged.differences):
        click.echo(f"  {line}")
    click.echo(_with(kept))
    sys.exit(rejudged.exit_code)


def _prove_again(folder: str, directory: str | None, jobs: int | None, as_json: bool) -> None:
    """Make a report again from its kept runs, say where it differs, and end with its exit code."""
    from sstep_verify.campaign.again import OfFile, prove_again
    from sstep_verify.cli.work import of_problems

    with of_problems() as progress:
        proved = prove_again(folder, directory, jobs or processors(), progress)
    code = 4 if proved.differences else 0
    if as_json:
        differences = [vars(one) for one in proved.differences]
        print_json({"differences": differences, "elsewhere": proved.elsewhere, "exit_code": code})
        sys.exit(code)
    for one in proved.differences:
        click.echo(one)
    results = proved.results
    click.echo(f"{results.campaign.name}: {results.summary.sentence}")
    if proved.elsewhere:
        click.echo(
            f"made with other {', '.join(proved.elsewhere)}: numbers may differ in their second digit"
        )
    for line in proved.unread:
        click.echo(f"not compared: {line}")
    equal = "equal: the kept runs give this report; that this solver made them is its author's word"
    count, files = len(proved.differences), sum(isinstance(one, OfFile) for one in proved.differences)
    given = {0: "the kept runs give", count: "its results.json gives"}
    of = given.get(files, "the kept runs and its results.json give")
    click.echo(f"DIFFERS from what {of}, in {counted(count, 'place')}" if count else equal)
    sys.exit(code)


def _is_of_a_vector(kept) -> bool:
    """Whether an artefact is of a vector that was handed over, which has no s and no blocks."""
    from sstep_verify.checks.shared.final_vector import ALONE

    return any(verdict["evidence"].get(ALONE) for verdict in kept.verdicts)


def _with(kept) -> str:
    """How what was judged is made or read again, in words and as a command."""
    command = kept.case.replay_command or "no command was kept"
    return f"with the {'vector' if _is_of_a_vector(kept) else 'solver'}: {command}"


def _head(kept) -> dict[str, object]:
    """Whose verdict an artefact holds, and how its solver is run again."""
    return {
        "check": kept.check, "case": kept.case.id, "s": kept.s, "version": kept.version,
        "run": kept.case.replay_command,
    }  # fmt: skip


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
    _section("Injected defect", filled(declared.planted))
    _section("VACUOUS", filled(declared.vacuous))
    sentences = (filled(f"{number}: {text}") for number, text in _sentences(declared).items())
    _section("Requirements of the specification that it decides", "\n".join(sentences))


def _section(title: str, text: str) -> None:
    if text:
        click.echo(f"\n{title}\n{text}")
