"""Write docs/spec.md from the requirements of the specification, which are in the package.

Usage: ``python docs/make_spec.py``, or with ``--check`` to say whether the page is up to date.
"""

from __future__ import annotations

from pathlib import Path

from generated import line, write_or_compare

from sstep_verify.specification import Sentence, specification

PAGE = Path(__file__).with_name("spec.md")

HEAD = """# Specification of s-step dual coordinate descent, version {version}

A solver MUST meet these requirements to be called a correct s-step dual coordinate descent. It is DCD for
K-SVM-L1 and K-SVM-L2, and BDCD for K-RR. s (1 is the classical method) and the number of ranks P may be
any. A FAIL names the requirements that it violates, or may violate. `sstep-verify explain CHECK` lists
those that a check decides. A number keeps its meaning: cite `S-2.3, version {version}`. This page is
made from [`sstep_verify/specification.toml`](../sstep_verify/specification.toml) by `python
docs/make_spec.py`.

| symbol | meaning |
|---|---|
| x_1, ..., x_m; n | samples (the paper's a_i), features of each |
| y | labels -1 and +1 (K-SVM), targets (K-RR) |
| K | kernel; also the m x m matrix of K(x_i, x_j) |
| C, lambda | penalty of the slack (K-SVM); regularisation (K-RR) |
| a, a0, a* | dual vector (the paper's alpha), the vector a run starts from, the solution |
| nu, omega | upper limit of the box: C (L1), infinity (L2); diagonal shift: 0 (L1), 1/(2C) (L2) |
| eta, g | curvature and gradient of the coordinate drawn |
| H, s | iterations, iterations per window |
| B, b | the coordinates of one iteration (a block), their number |
| P | ranks |

"Up to rounding" never means a chosen tolerance. It means a bound that is proved for every implementation
of what the solver declares, in any order of summation. It is computed from the input at hand. For S-4.2 it
may be an estimate, and then the verdict says so ([verdicts](verdicts.md)). "Bit for bit" means equal.

Levels are those of a solver under test: L0 returns its final alpha; L1 takes index stream and first
alpha; L2 leaves alpha at window ends; L3 counts its communication. The level of a requirement is the
one from which the first of its checks decides it. Checks that need less detect less. Errata are those
of the paper, in [reference/ERRATA.md](../reference/ERRATA.md).
"""

BREAKS = """## What violates which requirement

Names as verdicts and reasons use them. A failed check that names none of these violates the requirement
that is its own claim.

| requirement | quantities of a step | defects | parts of a check | claim of |
|---|---|---|---|---|
"""

NEXT = """

**Next:** [checks](checks.md) decide these requirements.
[How bounds work](how-bounds-work.md) derives one bound.
"""


def page() -> str:
    """The whole page."""
    whole = specification()
    parts = [HEAD.format(version=whole.version)]
    for place, group in enumerate(whole.groups, 1):
        parts.append(f"## {place}. {group.title}\n")
        parts.append("| | what MUST hold | decided by | level | erratum |\n|---|---|---|---|---|")
        parts.append("\n".join(_row(sentence) for sentence in group.sentences) + "\n")
    parts.append(BREAKS + "\n".join(_broken(one) for one in whole.sentences if one.signs or one.claimed_by))
    return "\n".join(parts).rstrip() + NEXT


def _row(sentence: Sentence) -> str:
    errata = ", ".join(map(str, sentence.errata))
    level = f"L{sentence.level}" if sentence.checks else ""
    cells = sentence.number, sentence.text, _decided(sentence)
    return line(*cells, level, errata)


def _decided(sentence: Sentence) -> str:
    return _names(sentence.checks) + sentence.limit or f"none: {sentence.undecided}"


def _broken(sentence: Sentence) -> str:
    named = (sentence.quantities, sentence.mistakes, sentence.items)
    return line(sentence.number, *map(_names, (*named, sentence.claimed_by)))


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    write_or_compare(PAGE, page(), "the requirements say")
