"""The command ``sstep-verify``; each command is a file of its own, imported when it is called."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import traceback
from collections.abc import Callable

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


def is_silent() -> bool:
    """Whether another process of the same job says what is to be said, if this is one of several."""
    from sstep_verify.launch.environment import is_silent_rank

    return is_silent_rank()


def _parsed_quietly(make_context: Callable[..., click.Context], *arguments, **extra) -> click.Context:
    """Parse a command line without a word: what is printed meanwhile is help."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        return make_context(*arguments, **extra)


class LazyGroup(click.Group):
    """A group whose commands live in ``sstep_verify.cli.NAME`` and load at first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command of a name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"sstep_verify.cli.{cmd_name}").command
        if is_silent():
            command.make_context = functools.partial(_parsed_quietly, command.make_context)
        return command

    def make_context(self, info_name, args, parent=None, **extra):
        """Parse what stands before the name of a command."""
        make = super().make_context
        if is_silent():
            return _parsed_quietly(make, info_name, args, parent, **extra)
        return make(info_name, args, parent, **extra)

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
    """Run the command line; errors of the user's input end it with one message and exit code 2.

    Of the processes that a launcher started together, the one of rank 0 prints help and usage errors.
    """
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("aborted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        if not is_silent():
            error.show()
        sys.exit(2)
    except (InputError, MissingExtraError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except Exception:
        traceback.print_exc()
        click.echo("internal error: this is a defect of sstep_verify, not of the solver tested", err=True)
        sys.exit(4)
