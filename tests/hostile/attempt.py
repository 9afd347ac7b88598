"""One try: what is tried, which files it may write, and who judges what it says of a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from statements import wrong_optimum, wrong_result

KERNELS = ("linear", "polynomial", "rbf")


@dataclass
class Try:
    """One try.

    Parameters
    ----------
    name : str
        What is tried, in words.
    words : tuple of str
        Command line after ``sstep-verify``.
    outputs : tuple of str
        Names that the command may make or replace.
    untrue : callable
        Says what is untrue in what is left after exit code 0; empty if nothing is.
    """

    name: str
    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    untrue: Callable[[str], str] = lambda said: ""


class Asked(NamedTuple):
    """The problem that a command line asks for."""

    data: np.ndarray
    targets: np.ndarray
    task: str
    parameter: float
    kernel: dict


def _option(words: tuple[str, ...], name: str, default: str) -> str:
    return words[words.index(name) + 1] if name in words else default


def asked(words: tuple[str, ...]) -> Asked:
    """Read the data that a command line of `solve` or `oracle` names, and its options."""
    from sstep_verify.problems.data import datasets

    task = _option(words, "--task", "")
    found = datasets.load(words[1], task="regression" if task == "krr" else "classification")
    name, *given = _option(words, "--kernel", "linear").split(",")
    kernel = {"name": name, "sigma": 1.0, "degree": 3, "offset": 0.0}
    for key, number in (word.split("=") for word in given):
        kernel[key] = int(number) if key == "degree" else float(number)
    data = found.data
    if sp.issparse(data):  # No kernel depends on a feature that no sample has.
        data = data[:, np.unique(data.indices)].toarray()
    parameter = float(_option(words, "--lambda" if task == "krr" else "--C", "1"))
    return Asked(data, found.targets, task, parameter, kernel)


def solved(words: tuple[str, ...], out: str = "o.npz") -> Callable[[str], str]:
    """Judge of a result of ``solve`` on the data and options of a command line."""
    tolerance = _option(words, "--tolerance", "1e-6")
    return lambda _said: wrong_result(Path(out), *asked(words), float(tolerance))


def certified(words: tuple[str, ...]) -> Callable[[str], str]:
    """Judge of the optimal value that ``oracle`` prints for the data and options of a command line."""
    return lambda said: wrong_optimum(said, *asked(words))
