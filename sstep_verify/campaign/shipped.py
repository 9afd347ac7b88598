"""The campaigns that come with the package. Imports nothing heavy: the help of ``run`` lists them."""

from __future__ import annotations

from functools import cache
from importlib import resources, util
from importlib.resources.abc import Traversable

PROFILES = {"smoke": "smoke", "ci": "ci", "nightly": "embedded", "deep": "deep"}
"""Profiles of problems on which somebody's solver is judged, and the campaigns that they are."""


@cache
def in_clone() -> bool:
    """Whether the studies are at hand: folder ``studies`` of a clone, which no installed package has."""
    return util.find_spec("studies") is not None


def shipped() -> dict[str, Traversable]:
    """Files of the campaigns that come with the package, and with a clone, by their names, in order."""
    found = (
        item
        for holder in ("sstep_verify.campaign", *["studies"] * in_clone())
        for item in (resources.files(holder) / "campaigns").iterdir()
        if item.name.endswith(".toml")
    )
    return {item.name.removesuffix(".toml"): item for item in sorted(found, key=lambda file: file.name)}


LEVELS = ("L0", "L1", "L2", "L3")
"""Levels of the specification (docs/spec.md), up to which a solver may be judged."""
