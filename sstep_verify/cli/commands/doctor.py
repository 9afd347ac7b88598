"""``sstep-verify doctor``: is everything here that runs need, does it work, and if not, what to do."""

from __future__ import annotations

import dataclasses
import json
import sys

import click


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
def command(as_json: bool) -> None:
    """Check MPI, BLAS threads, compiled loops, oracles, Octave, data sets and report writers.

    One line each: ok; missing (an optional part that is not there: what does not work without it, and the
    command that installs it); or wrong (it is there and does not work, or would give wrong results).

    Under mpiexec only the job at hand is looked at, and rank 0 alone prints.

    Exit codes: 0 nothing is wrong, though optional parts may be missing; 2 something is wrong.
    """
    from sstep_verify import __version__
    from sstep_verify.cli.doctor.mpi import mpi_findings
    from sstep_verify.cli.doctor.parts import part_findings
    from sstep_verify.ranks.environment import is_silent_rank

    if is_silent_rank():
        # MPI begins on all ranks or on none.
        list(mpi_findings())
        return
    findings = []
    for finding in (*mpi_findings(), *part_findings()):
        findings.append(finding)
        if not as_json:
            click.echo(finding.line())
    wrong = sum(finding.state == "wrong" for finding in findings)
    if as_json:
        document = {
            "version": __version__,
            "wrong": wrong,
            "findings": [dataclasses.asdict(finding) for finding in findings],
        }
        click.echo(json.dumps(document, indent=2))
    else:
        missing = sum(finding.state == "missing" for finding in findings)
        click.echo(f"{len(findings)} parts: {wrong} wrong, {missing} missing")
    sys.exit(2 if wrong else 0)
