"""Names that the shell completes: shipped campaigns, checks, data sets; files where they may stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def campaigns() -> Iterable[str]:
    """Shipped campaigns."""
    from sstep_verify.campaign.shipped import shipped

    return shipped()


def checks() -> Iterable[str]:
    """Ids of the checks."""
    from sstep_verify.checks.registry import CHECKS

    return tuple(CHECKS)


def data_sets() -> Iterable[str]:
    """Data sets known by name."""
    from sstep_verify.problems.data.datasets import names

    return names()


def complete(names: Callable[[], Iterable[str]]) -> Complete:
    """Complete one of these names, or a file where no name begins so.

    Parameters
    ----------
    names : callable
        Gives the names; called only while the shell completes.
    """

    def found(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in names() if name.startswith(begun)]
        return items or [CompletionItem(begun, type="file")]

    return found
