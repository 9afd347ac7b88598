"""What code a solver ``module:object`` is: a digest of its files, which tells two of them apart."""

from __future__ import annotations

import hashlib
import importlib.util
import secrets
import sys
import sysconfig
import warnings
from collections.abc import Iterable
from modulefinder import ModuleFinder
from pathlib import Path

OURS = ["sstep_verify", "sstep_reference"]
"""Packages whose version and commit are told anyway."""

SUFFIXES = (".py", ".so", ".pyd")


def digest_of_code(name: str) -> str:
    """SHA-256 of the files of a solver's module, and of those that it imports and nobody has installed.

    Imports are read from the code, also those inside functions; nothing is run. What is installed is known
    by its version; what code reads in another way, such as a file, cannot be known.

    Parameters
    ----------
    name : str
        ``module:object``, which can be loaded.

    Returns
    -------
    str
        The digest; where the files cannot be found a number drawn now, which no other is equal to.
    """
    module = name.partition(":")[0]
    found = hashlib.sha256()
    try:
        for key, path in sorted(_files(module)):
            found.update(f"{key} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    except (ImportError, SyntaxError, ValueError, OSError, AttributeError):
        return secrets.token_hex(32)
    return found.hexdigest()


def _files(module: str) -> Iterable[tuple[str, Path]]:
    """Names and files of the modules that a module is made of."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        raise ImportError(module)
    folder = Path(spec.submodule_search_locations[0]) if spec.submodule_search_locations else None
    if _is_installed(spec.origin):
        files = folder.rglob("*") if folder else [Path(spec.origin)]
        return [(path.name, path) for path in files if path.suffix in SUFFIXES]
    root = str((folder or Path(spec.origin)).parent)
    finder = ModuleFinder([root, *(path for path in sys.path if not _is_installed(path))], excludes=OURS)
    with warnings.catch_warnings(action="ignore"):
        finder.import_hook(module)
    found = {key: vars(one)["__file__"] for key, one in finder.modules.items()}
    return [(key, Path(file)) for key, file in found.items() if file]


def _is_installed(path: str) -> bool:
    """Whether a file or folder belongs to this Python, or was installed beside it."""
    places = (Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(Path(path).resolve().is_relative_to(place.resolve()) for place in places)
