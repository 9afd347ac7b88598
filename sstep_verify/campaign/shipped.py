"""The campaigns that come with the package. Imports nothing heavy: the help of ``run`` lists them."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

PROFILES = {"smoke": "smoke", "ci": "ci", "nightly": "embedded", "deep": "deep"}
"""Profiles of problems on which somebody's solver is judged, and the campaigns that they are."""


def shipped() -> dict[str, Traversable]:
    """Files of the campaigns that come with the package, by their names, in alphabetical order."""
    folder = resources.files("sstep_verify.campaign") / "campaigns"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda f: f.name)
    return {item.name.removesuffix(".toml"): item for item in files}


LEVELS = ("L0", "L1", "L2", "L3")
"""Levels of the specification (docs/spec.md), up to which a solver may be judged."""
