"""Column profiles of a campaign's data: from a data set, from a file of counts, or as stated."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from sstep_verify.campaign.selection import load_data
from sstep_verify.costs.model.profiles import Profile, matrix_profile, read_counts, uniform_profile
from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import FOLDER_VARIABLE, stored_file
from studies.scaling.definition import DataItem

Loaded = tuple[Profile, str]
"""A profile, and the SHA-256 of the file that it is from; empty if it is stated."""


def load_profile(item: DataItem, directory: str | None) -> Loaded:
    """The profile of an entry of a family's data, from the folder of the data sets.

    Raises
    ------
    InputError
        If it is not to be had, or cannot be used.
    """
    return _kept(item, directory, os.environ.get(FOLDER_VARIABLE))


@lru_cache(maxsize=4)
def _kept(item: DataItem, directory: str | None, _folder: str | None) -> Loaded:
    """Read once for all units of a data set; what cannot be read is tried again."""
    if item.counts:
        path = stored_file(item.counts, directory)
        if path is None:
            raise InputError(_absent(item, directory))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return Profile(item.name, item.samples, read_counts(path, item.samples)), digest
    if item.features:
        return uniform_profile(item.name, item.samples, item.features, item.nonzeros), ""
    loaded = load_data(item.name, directory)
    return matrix_profile(item.name, loaded.data), loaded.sha256


def _absent(item: DataItem, directory: str | None) -> str:
    """What is said where a file of counts is nowhere."""
    folders = {
        "the folder given (--data)": directory,
        f"${FOLDER_VARIABLE}": os.environ.get(FOLDER_VARIABLE),
    }
    tried = [f"{origin} ({Path(folder)}) holds none" for origin, folder in folders.items() if folder]
    return (
        f"the column counts of {item.name!r} are not at hand: {'; '.join(tried) or 'no folder was named'}. "
        f"Ways out: give the folder that holds the file {item.counts} with --data DIR; "
        f"or name it in ${FOLDER_VARIABLE}"
    )
