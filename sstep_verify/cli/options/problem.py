"""Options that say which problem is solved, the same for every command, and what they mean together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

TASKS, KERNELS = ("svm-l1", "svm-l2", "krr"), ("linear", "polynomial", "rbf")

USED_BY = {
    "sigma": ("--sigma", "kernel", ("rbf",)),
    "degree": ("--degree", "kernel", ("polynomial",)),
    "offset": ("--offset", "kernel", ("polynomial",)),
    "penalty_c": ("--C", "task", ("svm-l1", "svm-l2")),
    "penalty": ("--lambda", "task", ("krr",)),
}
"""Parameters, their options, and which kernels or tasks use them."""


def problem_options(*, required: bool) -> Callable[[Callable], Callable]:
    """Decorate a command with the options of a problem: task, kernel, parameters, bias."""

    def decorate(function: Callable) -> Callable:
        named = (
            click.option("--task", type=click.Choice(TASKS), required=required, help="What to solve."),
            click.option("--kernel", type=click.Choice(KERNELS), default="linear", show_default=True),
        )
        function = parameter_options(function)
        for option in reversed(named):
            function = option(function)
        return function

    return decorate


def parameter_options(function: Callable) -> Callable:
    """Decorate a command with the options of a problem whose task and kernel it names by itself."""
    options = (
        click.option("--sigma", type=float, help="rbf: inverse squared width  [default: 1.0]"),
        click.option("--degree", type=int, help="polynomial: exponent  [default: 3]"),
        click.option("--offset", type=float, help="polynomial: constant  [default: 0.0]"),
        click.option("--C", "penalty_c", type=float, help="K-SVM: penalty  [default: 1.0]"),
        click.option("--lambda", "penalty", type=float, help="K-RR: regularisation  [default: 1.0]"),
        click.option(
            "--bias", type=float, default=0.0,
            help="Append a constant feature of this value  [default: none]",
        ),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def kernel_and_loss(given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Kernel and loss that the options describe, and the other options.

    Raises
    ------
    InputError
        If a value is out of range, or an option was given that the kernel or task does not use.
    """
    from sstep_verify.errors import InputError
    from sstep_verify.problems import kernel_from, loss_from

    rest = dict(given)
    parameters = {name: rest.pop(name) for name in USED_BY}
    named = {"kernel": rest.pop("kernel"), "task": rest.pop("task")}
    for name, (option, chosen, users) in USED_BY.items():
        if parameters[name] is not None and named[chosen] not in users:
            raise InputError(
                f"{option} {parameters[name]}: --{chosen} {named[chosen]} does not use it; drop it, or "
                f"give --{chosen} {' or '.join(users)}"
            )
    found = {name: value for name, value in parameters.items() if value is not None}
    shape = {name: found[name] for name in ("sigma", "degree", "offset") if name in found}
    scale = [found[name] for name in ("penalty_c", "penalty") if name in found]
    return kernel_from(named["kernel"], **shape), loss_from(named["task"], *scale), rest
