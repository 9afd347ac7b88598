"""Mutants of a package as cosmic-ray makes them, and a seeded sample of those that can change behaviour.

A *place* is the segment of source an operator changes; a place has several mutants. A sample draws places,
all equally likely, and one mutant of each: otherwise arithmetic, with eleven mutants a sign, would be most
of it.

Left out, because nothing can come of them or every import shows them: annotations (strings at run time), the
marks ``*`` and ``/`` of a signature, conditions on ``TYPE_CHECKING``, exchanges between arithmetic and bit
operators (a TypeError on floats), and mutants that are no Python. Docstrings and ``__all__`` hold nothing that
the operators change.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.provider import OperatorProvider

BITS = {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"}
"""Names that cosmic-ray gives the bit operators."""


@dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Parameters
    ----------
    file : str
        Module, from the root of the tree.
    operator : str
        Operator of cosmic-ray.
    occurrence : int
        Which of the operator's changes in this file.
    line, statement : int, tuple of int
        Line of the change; first and last line of the statement, or of the header, that holds it.
    function : tuple of int
        First and last line of the body of the function that holds it; (0, 0) outside functions.
    """

    file: str
    operator: str
    occurrence: int
    line: int
    statement: tuple[int, int]
    function: tuple[int, int]

    @property
    def name(self) -> str:
        """A word that names the mutant as long as the file stays as it is."""
        return f"{self.file.removeprefix('sstep_verify/')}:{self.operator.split('/')[-1]}:{self.occurrence}"

    def source(self, tree: Path) -> str | None:
        """The mutated module; None where it is no Python."""
        operator = OperatorProvider()[self.operator]()
        text = mutate_code((tree / self.file).read_text("utf-8"), operator, self.occurrence)
        try:
            ast.parse(text)
        except SyntaxError:
            return None
        return text

    def words(self, tree: Path) -> tuple[str, str]:
        """The first line that differs, before and after."""
        before = (tree / self.file).read_text("utf-8").splitlines()
        after = (self.source(tree) or "").splitlines()
        pairs = ((old.strip(), new.strip()) for old, new in zip(before, after, strict=False) if old != new)
        return next(pairs, ("", ""))


def sampled(tree: Path, folders: tuple[str, ...], number: int, seed: int) -> list[Mutant]:
    """Draw mutants of all modules below some folders of a tree."""
    places: dict[tuple, list[Mutant]] = defaultdict(list)
    for folder in folders:
        for path in sorted((tree / folder).rglob("*.py")):
            for position, mutant in _mutants(path, str(path.relative_to(tree))):
                places[mutant.file, *position].append(mutant)
    generator = np.random.Generator(np.random.PCG64(seed))
    groups = list(places.values())
    print(f"{sum(map(len, groups))} mutants of {len(groups)} places", flush=True)
    drawn = []
    for index in generator.permutation(len(groups)):
        mutant = groups[index][generator.integers(len(groups[index]))]
        if mutant.source(tree) is not None:
            drawn.append(mutant)
        if len(drawn) == number:
            break
    return drawn


def _mutants(path: Path, file: str):
    """Every mutant of a module with its place."""
    nodes = list(ast_nodes(get_ast(path.read_text("utf-8"))))
    for name in OperatorProvider():
        kind = OperatorProvider()[name]
        if kind.arguments() or _mixes(name):
            continue
        operator, occurrence = kind(), -1
        for node in nodes:
            for position in operator.mutation_positions(node):
                occurrence += 1
                if not _idle(node):
                    yield position, Mutant(file, name, occurrence, position[0][0], *_around(node, position))


def _mixes(name: str) -> bool:
    """Whether an operator exchanges an arithmetic sign for one of bits, or the reverse."""
    family, _, pair = name.partition("BinaryOperator_")
    return bool(pair) and family == "Replace" and len(BITS & set(pair.split("_"))) == 1


def _idle(node) -> bool:
    """Whether a node is part of an annotation, a mark of a signature, or a condition on TYPE_CHECKING."""
    if node.type == "if_stmt" and node.children[1].get_code().strip() == "TYPE_CHECKING":
        return True
    if node.type == "operator" and node.parent.type in ("parameters", "param"):
        return True
    while node.parent is not None:
        parent, place = node.parent, node.parent.children.index(node)
        if parent.type == "tfpdef" and place == 2:
            return True
        if parent.type == "annassign" and place == 1:
            return True
        if parent.type == "funcdef" and parent.annotation is node:
            return True
        node = parent
    return False


def _around(node, position) -> tuple[tuple[int, int], tuple[int, int]]:
    """Lines of the statement or header that holds a node, and of its function."""
    statement, function, below = None, (0, 0), node
    first, last = position[0][0], position[1][0]
    while below.parent is not None:
        parent = below.parent
        if statement is None and parent.type == "simple_stmt":
            statement = (parent.start_pos[0], parent.end_pos[0])
        if statement is None and parent.type.endswith(("_stmt", "funcdef", "classdef")):
            statement = (parent.start_pos[0], max(last, first))
        if function == (0, 0) and parent.type == "funcdef" and below.type == "suite":
            # The first child ends the header.
            function = (below.children[1].start_pos[0], parent.end_pos[0])
        below = parent
    return statement or (first, last), function
