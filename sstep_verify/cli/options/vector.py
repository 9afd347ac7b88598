"""``sstep-verify check --final``: options on one vector, and the campaign that judges it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sstep_verify.cli.options.problem import USED_BY, kernel_and_loss, parameter_options

OF_THE_VECTOR = {
    "tolerance": "--tolerance", "scale": "--scale", "signed": "--signed", "bias": "--bias",
} | {name: option for name, (option, _, _) in USED_BY.items()}  # fmt: skip
"""Options that only a vector has, by the names of their values."""


def final_options(function: Callable) -> Callable:
    """Decorate the command with the options of a vector in a file."""
    options = (
        click.option(
            "--final", metavar="FILE",
            help="Judge this vector: is it the optimum? Nothing is run; --data and --task say of what.",
        ),
        click.option(
            "--tolerance", type=click.FloatRange(min=0, min_open=True),
            help="--final: relative gap (K-SVM) or error (K-RR) up to which it is  [default: 1e-8]",
        ),
        click.option(
            "--scale", metavar="C",
            help="--final: the file holds C times a; a number, or 1/lambda, m, 1/m, ...",
        ),
        click.option("--signed", is_flag=True, help="--final: the entries are y_i a_i."),
    )  # fmt: skip
    for option in reversed((*options, parameter_options)):
        function = option(function)
    return function


def definition_of_vector(given: dict[str, Any], unused: dict[str, Any], command: str):
    """The campaign of ``--final``.

    Parameters
    ----------
    given : dict
        Values of the options of the vector and its problem: final, data, tasks, kernels, and those of
        `OF_THE_VECTOR`.
    unused : dict
        Values of all other options by their names; none may be given.
    command : str
        The command that was given.

    Raises
    ------
    InputError
        If an option is missing or goes with no vector, or file and data do not fit each other.
    """
    from sstep_verify.campaign.final_vector import Written, final_vector
    from sstep_verify.errors import InputError

    if wrong := [name for name, value in unused.items() if value]:
        raise InputError(f"{wrong[0]} goes with a solver that is run, not with --final; drop it")
    if not given["data"] or len(given["tasks"]) != 1 or len(given["kernels"]) > 1:
        raise InputError(
            "--final needs --data, one --task and at most one --kernel: the problem whose optimum it is"
        )
    shape = {name: given[name] for name in USED_BY}
    named = {"task": given["tasks"][0], "kernel": (given["kernels"] or ("linear",))[0]}
    kernel, loss, _ = kernel_and_loss(shape | named)
    stated = {} if given["tolerance"] is None else {"tolerance": given["tolerance"]}
    return final_vector(
        Written(given["final"], given["scale"] or "", given["signed"]),
        given["data"], kernel, loss, bias=given["bias"], command=command, **stated,
    )  # fmt: skip


def refuse_options_of_a_vector(given: dict[str, Any]) -> None:
    """Raise InputError if an option is given that only ``--final`` has."""
    from sstep_verify.errors import InputError

    for name, option in OF_THE_VECTOR.items():
        if given[name]:
            raise InputError(f"{option} is for --final FILE; the problems of a profile are as they are")
