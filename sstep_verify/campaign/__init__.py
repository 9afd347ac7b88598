"""Campaigns: what is run, the runner, the roll-up.

Here are those that come with the package; nothing heavy is imported, for the help of ``run`` lists them.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from sstep_verify.errors import has_studies

PROFILES = {"smoke": "smoke", "ci": "ci", "nightly": "embedded", "deep": "deep"}
"""Profiles of problems on which somebody's solver is judged, and the campaigns that they are."""


def shipped() -> dict[str, Traversable]:
    """Files of the campaigns that come with the package, and with a clone, by their names, in order."""
    found = (
        item
        for holder in ("sstep_verify.campaign", *["studies"] * has_studies())
        for item in (resources.files(holder) / "campaigns").iterdir()
        if item.name.endswith(".toml")
    )
    return {item.name.removesuffix(".toml"): item for item in sorted(found, key=lambda file: file.name)}
