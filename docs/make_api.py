"""Write docs/api.md from the docstrings of the public names.

Usage: ``python docs/make_api.py``, or with ``--check`` to say whether the page is up to date.
"""

from __future__ import annotations

import enum
import inspect
import re
from pathlib import Path

import griffe
from generated import write_or_compare

import sstep_verify

PAGE = Path(__file__).with_name("api.md")

HEAD = """# Python interface

All names on this page are imported from the package itself, such as `from sstep_verify import Problem`;
a part of the package is loaded when a name of it is first used. Anything else may change at any time, also
what [a loss or kernel of your own](own.md) is built on. This page is made from the docstrings by
`python docs/make_api.py`.
"""

NEXT = """

**Next:** [what is stable from 1.0 on](compatibility.md), or [a loss or kernel of your own](own.md).
"""

GROUPS = {
    "Judging": ("judge", "verify", "Report", "parametrize_with_checks", "Verdict", "Sensitivity", "Status"),
    "Problems": (
        "Problem", "LinearKernel", "PolynomialKernel", "RBFKernel", "Hinge", "SquaredHinge", "Ridge",
        "IndexStream",
    ),
    "Solvers": (
        "Solver", "Declaration", "Exchange", "RunRequest", "Trajectory", "CallableSolver",
        "ReferenceSolver", "ProductionSolver",
    ),
    "Errors": ("SstepVerifyError", "FailedError", "InputError", "DataError", "MissingExtraError"),
}  # fmt: skip


def page() -> str:
    """The whole page."""
    left_out = set(sstep_verify.__all__) - {name for names in GROUPS.values() for name in names}
    if left_out != {"__version__"}:
        raise SystemExit(f"docs/make_api.py: in no group: {sorted(left_out)}")
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _described(name, getattr(sstep_verify, name), "###")
    return "\n".join(parts).rstrip() + NEXT


def _described(name: str, value: object, heading: str) -> list[str]:
    parts = [f"{heading} {name}\n"]
    if isinstance(value, enum.EnumType):
        parts.append(f"One of {', '.join(f'`{member}`' for member in value)}.\n")
    elif not (inspect.isclass(value) and issubclass(value, Exception)) and callable(value):
        parts.append(f"```text\n{_signature(name, value)}\n```\n")
    parts += _sections(value)
    if inspect.isclass(value):
        for member, function in vars(value).items():
            function = getattr(function, "__func__", function)
            if not member.startswith("_") and inspect.isfunction(function):
                parts += _described(f"{name}.{member}", function, "####")
    return parts


def _signature(name: str, value) -> str:
    if inspect.isclass(value) and getattr(value, "_is_protocol", False):
        return f"class {name}"
    signature = inspect.signature(value)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    signature = signature.replace(parameters=kept)
    if inspect.isclass(value):
        signature = signature.replace(return_annotation=inspect.Signature.empty)
    line = f"{name}{signature}"
    if len(line) > 100:
        words = [str(parameter) for parameter in kept]
        by_name = [parameter.kind is parameter.KEYWORD_ONLY for parameter in kept]
        if any(by_name) and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in kept):
            words.insert(by_name.index(True), "*")
        lines = "".join(f"    {word},\n" for word in words)
        line = f"{name}(\n{lines}){str(signature).rpartition(')')[2]}"
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", line)  # Annotations are kept as texts.


def _sections(value) -> list[str]:
    parsed = griffe.Docstring(inspect.getdoc(value) or "").parse("numpy", warnings=False)
    parts = []
    for section in parsed:
        if section.kind is griffe.DocstringSectionKind.text:
            parts.append(section.value.replace("``", "`") + "\n")
            continue
        if not isinstance(section.value, list):
            parts.append(f"{section.title}:\n\n{section.value.description}\n")
            continue
        if section.kind is griffe.DocstringSectionKind.examples:
            parts += [f"Example:\n\n```pycon\n{text}\n```\n" for _, text in section.value]
            continue
        items = [_item(item) for item in section.value]
        parts.append(f"{section.kind.value.capitalize()}:\n\n" + "\n".join(items) + "\n")
    return parts


def _item(item) -> str:
    text = " ".join(item.description.split()).replace("``", "`")
    name, kind = getattr(item, "name", ""), str(item.annotation or "")
    head = " ".join(filter(None, (f"`{name}`" if name else "", f"(`{kind}`)" if name and kind else kind)))
    return f"- {head}: {text}" if text else f"- {head}"


if __name__ == "__main__":
    write_or_compare(PAGE, page(), "the docstrings say")
