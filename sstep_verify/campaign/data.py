"""Data sets of a campaign: known names, and files of one's own, by path or in the folder of ``--data``."""

from __future__ import annotations

from pathlib import Path

from sstep_verify.problems.data.datasets import DataSet, knows, load


def load_data(name: str, directory: str | None, task: str | None = None) -> DataSet:
    """Load a data set as `problems.data.datasets.load` does; a file is first looked for in `directory`.

    Parameters
    ----------
    name : str
        Name, or path of a file.
    directory : str or None
        Folder of the data sets.
    task : {"classification", "regression"}, optional
        What the targets are used for.

    Raises
    ------
    InputError
        If it is not to be had, or cannot be used.
    """
    if directory and not knows(name):
        inside = Path(directory).expanduser() / name
        if inside.is_file():
            return load(inside, directory=directory, task=task)
    return load(name, directory=directory, task=task)
