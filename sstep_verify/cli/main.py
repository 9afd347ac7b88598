"""The command ``sstep-verify``; each command is a file of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys
import traceback

import click

from sstep_verify import __version__
from sstep_verify.errors import InputError, MissingExtraError

COMMANDS = {
    "doctor": "Check MPI, threads, packages and data, and say what to do.",
    "explain": "Say what a check claims, how its bound is derived, and what it saw.",
    "oracle": "Certify an optimum, or prove a certificate anew.",
    "replay": "Judge an artefact again, offline.",
    "run": "Run a campaign and write its report.",
    "solve": "Train a K-SVM or K-RR, on one process or under mpiexec.",
}


class LazyGroup(click.Group):
    """A group whose commands live in ``sstep_verify.cli.NAME`` and load at first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command of a name."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"sstep_verify.cli.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sstep-verify")
def cli():
    """Verify s-step solvers: is this one right, up to which s, on which data, and how do we know.

    Exit codes: 0 green; 1 a check failed; 2 usage or input error; 3 inconclusive, or too few
    comparisons executed; 4 internal error, or the oracles disagree.
    """


def main() -> None:
    """Run the command line; errors of the user's input end it with one message and exit code 2."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("aborted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (InputError, MissingExtraError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except Exception:
        traceback.print_exc()
        click.echo("internal error: this is a defect of sstep_verify, not of the solver tested", err=True)
        sys.exit(4)
