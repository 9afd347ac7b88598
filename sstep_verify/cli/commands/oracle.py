"""``sstep-verify oracle``: certify an optimum, prove a certificate again, or judge a vector by it."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from dataclasses import asdict, replace

import click

from sstep_verify.cli.options import (
    FORCE,
    claimed_out,
    complete,
    data_sets,
    folder_option,
    kernel_and_loss,
    loaded_for,
    on_command_line,
    problem_of,
    problem_options,
)
from sstep_verify.errors import InputError
from sstep_verify.files import write_text

SHOWN = 30
"""Digits of a value that are printed; the file holds all."""


OF_A_VECTOR = ("tolerance", "scale", "signed")
OF_A_CERTIFICATE = ("digits", "force", "no_cache", "as_json")
"""Options that go with ``--final`` alone, and those that do not."""

OF_VERIFY = ("data", "directory", "as_json", "memory")
"""Options, and DATA, that go with ``--verify``, which does nothing else."""


@click.command("oracle")
@click.argument("data", metavar="[DATA]", required=False, shell_complete=complete(data_sets))
@click.option("--verify", "file", metavar="FILE", help="Prove this certificate again, then stop.")
@click.option(
    "--final", metavar="FILE",
    help="Judge this vector, which a solver left: is it the optimum? Nothing is run.",
)  # fmt: skip
@problem_options(required=False)
@click.option(
    "--digits", type=click.IntRange(1, 130), default=30, show_default=True, help="Decimal digits asked for."
)
@click.option(
    "--memory", type=click.FloatRange(min=0, min_open=True), default=4.0, show_default=True, metavar="GIB",
    help="Most memory that matrices and data may take; more is rejected.",
)  # fmt: skip
@click.option(
    "--tolerance", type=click.FloatRange(min=0, min_open=True),
    help="--final: relative gap (K-SVM) or error (K-RR) up to which it is the optimum  [default: 1e-8]",
)  # fmt: skip
@click.option(
    "--scale", metavar="C", help="--final: the file holds C times a; a number, or 1/lambda, m, 1/m, ..."
)
@click.option("--signed", is_flag=True, help="--final: the entries are y_i a_i.")
@folder_option
@click.option(
    "--out", metavar="FILE", help="File of the certificate (.json); with --final, folder of the report."
)
@click.option("--force", is_flag=True, help=FORCE)
@click.option("--no-cache", is_flag=True, help="Neither look the certificate up nor keep it.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: the certificate, or the proof."
)
def command(data, file, final, **given):
    """Certify the optimum of a K-SVM or K-RR: enclosures with proof, in decimals.

    DATA is a LIBSVM file or the name of a data set. The problems have no bias term. --bias 1 offers a
    constant feature in its place, as -B does in LIBLINEAR: the linear kernel gains 1, and the bias, the
    last weight, is regularised like the others (polynomial: offset + 1; rbf: rejected, as nothing changes).

    With --verify FILE every statement of a certificate is
    proved again, from the file and the data only, by code that shares with the search only its ball
    arithmetic; DATA is then needed only if the certificate names no known data set.

    With --final FILE a vector that somebody's solver left is judged: is it the optimum of this problem, and
    feasible? A report is written as by `check`, and the exit codes are those of `check`.
    docs/final-vector.md says how the file may look, and how one in another scale or sign is read.

    Certificates are kept under $XDG_CACHE_HOME, and one found there is proved again in the same way before
    it is printed; one that cannot be is named, left out, and certified again.

    Exit codes: 0 certified to the digits asked, or proved again; 1 the certificate is rejected, and the
    field at fault is named; 2 usage or input error; 3 certified, but to fewer digits than asked.
    """
    from sstep_verify.oracle.certificate.file import encode

    chosen = {"file": file, "final": final}
    _refuse_others(next((name for name, value in chosen.items() if value is not None), ""))
    if file is not None:
        _verify(file, data, given)
        return
    if data is None or given["task"] is None:
        raise InputError(
            "oracle: give DATA and --task to certify, and --final FILE to judge a vector; or --verify FILE "
            "to prove again"
        )
    if final is not None:
        _judge(final, data, given)
    with claimed_out(given["out"], data, given["directory"], force=given["force"]) as place:
        certificate, problem = _certified(data, given)
        text = encode(certificate)
        if place is not None:
            write_text(place, text)
    if given["as_json"]:
        click.echo(text, nl=False)
    else:
        _show(problem, certificate)
    if certificate.digits < given["digits"]:
        click.echo(f"certified to {certificate.digits} digits of the {given['digits']} asked for", err=True)
        sys.exit(3)


def _refuse_others(chosen: str) -> None:
    """Refuse what was given and does not go with the option chosen, or with certifying where none is."""
    given, left_out = on_command_line(), OF_A_CERTIFICATE if chosen == "final" else OF_A_VECTOR
    for name, flag in given.items():
        fits = name in OF_VERIFY if chosen == "file" else name not in left_out
        if name != chosen and not fits:
            why = f"does not go with {given[chosen]}" if chosen else "is for --final FILE"
            raise click.UsageError(f"{flag} {why}; drop it")


def _judge(final, data, given) -> None:
    """Judge a vector in a file, and end with the exit code of its report."""
    from sstep_verify.campaign.final_vector import final_vector
    from sstep_verify.cli.campaign import run_and_report
    from sstep_verify.cli.commands.check import command_again

    kernel, loss, _ = kernel_and_loss(given)
    stated = {} if given["tolerance"] is None else {"tolerance": given["tolerance"]}
    definition = final_vector(
        final, data, kernel, loss, scale=given["scale"] or "", signed=given["signed"],
        directory=given["directory"], bias=given["bias"], memory=given["memory"],
        command=command_again(), **stated,
    )  # fmt: skip
    run_and_report(definition, {name: given[name] for name in ("directory", "out")}, keeps=False)


def _certified(data, given):
    """The certificate, kept or made again, with its provenance, and the problem it speaks of."""
    from sstep_verify.campaign.memory import require_room
    from sstep_verify.oracle.certificate.cache import keep, proved
    from sstep_verify.oracle.certificate.certify import certify
    from sstep_verify.oracle.certificate.file import require_writable
    from sstep_verify.provenance import collect

    problem, loaded = problem_of(data, given)
    # A certificate in the cache is proved over the same values.
    require_room(problem.label, problem.data, given["memory"], "--memory")
    require_writable(problem)
    certificate, note = (None, "") if given["no_cache"] else proved(problem, given["digits"])
    if note:
        click.echo(note, err=True)
    if certificate is None:
        _say_memory(problem, given["memory"])
        certificate = certify(problem, given["digits"])
        if not given["no_cache"] and (note := keep(problem, given["digits"], certificate)):
            click.echo(note, err=True)
    facts = {loaded.name: {"sha256": loaded.sha256, "notes": list(loaded.notes)}}
    made = collect(("sstep-verify", *sys.argv[1:]), data=facts)
    subject = replace(certificate.subject, bias=given["bias"])
    return replace(certificate, subject=subject, provenance=made), problem


def _say_memory(problem, allowed) -> None:
    from sstep_verify.campaign.memory import certificate_need
    from sstep_verify.oracle.certificate.memory import GIB

    needed, line = certificate_need(problem.label, problem.data, svm=problem.is_svm)
    if needed > allowed * GIB:
        way_out = "take fewer samples, or raise it where there is as much"
        raise InputError(f"{line}, but --memory allows {allowed:g}; {way_out}")
    if 10 * needed > allowed * GIB:
        click.echo(f"memory: {line}", err=True)


def _show(problem, certificate) -> None:
    from sstep_verify.report.plain import shortened

    if certificate.subject.bias:
        click.echo(f"a constant feature, {certificate.subject.bias:g}, stands last in the data")
    click.echo(f"{problem.label}: {certificate.digits} digits certified")
    click.echo(f"  optimal value {_short(certificate.objective)}")
    click.echo(f"  gap {_short(certificate.gap)}")
    if problem.is_svm:
        counts = Counter(certificate.statuses)
        kinds = ", ".join(f"{counts[status]} {words}" for status, words in _STATUS_WORDS.items())
        most = "at most " * bool(counts["undecided"])
        click.echo(f"  support vectors {most}{len(certificate.support)} of {problem.samples}: {kinds}")
        uniqueness = "proved unique" if certificate.unique else "uniqueness not proved"
        click.echo(f"  optimum {uniqueness}: matrix on the remaining coordinates {certificate.remaining}")
    if certificate.radius:
        click.echo(f"  distance from the optimum at most {shortened(certificate.radius)}")
    click.echo(f"  {certificate.how}")


_STATUS_WORDS = {"zero": "proved 0", "upper": "proved C", "free": "proved free", "undecided": "undecided"}


def _short(interval) -> str:
    """The middle, rounded where it has more digits than are read, and the radius about the whole of it."""
    from decimal import ROUND_HALF_EVEN, Decimal

    from sstep_verify.report.plain import shortened

    middle = shortened(interval.middle, SHOWN, ROUND_HALF_EVEN)
    rounded = " (rounded)" if Decimal(middle) != Decimal(interval.middle) else ""
    return f"{middle}{rounded} with radius {shortened(interval.radius)}"


def _verify(file, data, given) -> None:
    from sstep_verify.campaign.memory import require_room
    from sstep_verify.oracle.certificate.file import read_certificate
    from sstep_verify.oracle.verify.certificate import verify_certificate
    from sstep_verify.oracle.verify.record import CertificateError
    from sstep_verify.problems.data.datasets import names

    try:
        certificate = read_certificate(file)
        subject = certificate.subject
        if data is None and subject.data not in names():
            raise InputError(
                f"{file}: speaks of a file {subject.data!r}; say where it lies: "
                f"{shlex.join(['sstep-verify', 'oracle', subject.data, '--verify', file])}"
            )
        loaded = loaded_for(data or subject.data, subject.task, given["directory"])
        require_room(file, loaded.data, given["memory"], "--memory")
        problem = verify_certificate(certificate, loaded.data, loaded.targets)
    except CertificateError as error:
        if given["as_json"]:
            click.echo(json.dumps({"proved": False, "field": error.field_name, "reason": str(error)}))
        click.echo(f"{file}: {error}", err=True)
        sys.exit(1)
    if given["as_json"]:
        click.echo(json.dumps({"proved": True, "digits": certificate.digits, "subject": asdict(subject)}))
        return
    _show(problem, certificate)
    click.echo("every statement was proved again")
