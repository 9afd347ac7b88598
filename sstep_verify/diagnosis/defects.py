"""What a diagnosis found, as records: the defects that reproduce a FAIL, and what to look at.

They are looked for elsewhere: in checks/window/causes.py, checks/steps/causes.py and diagnosis/search.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.diagnosis.factors import Factor
from sstep_verify.diagnosis.symbols import in_symbols
from sstep_verify.problems import Problem
from sstep_verify.specification import requirements_of
from sstep_verify.verdict import Defect, Hint, HintKind


@dataclass(frozen=True)
class Diagnosis:
    """The known defects that reproduce a FAIL within its bound, and hints; nothing where none does.

    Parameters
    ----------
    defects : tuple of Defect
        The defects.
    hints : tuple of Hint
        Why the defects may not be what was done.
    signs : tuple of str
        Names of facts that are plain whichever of the defects was made.
    """

    defects: tuple[Defect, ...] = ()
    hints: tuple[Hint, ...] = ()
    signs: tuple[str, ...] = ()


def diagnosis_of(
    problem: Problem, causes: Sequence[Candidate], factors: Iterable[Factor] = ()
) -> Diagnosis:
    """Return what was found out about a FAIL on a problem.

    The causes reproduce it, and each of the factors, on one quantity, explains every wrong step. There is a
    doubt where none of them would leave all correct steps as they are.
    """
    doubts = dict.fromkeys(cause.doubt for cause in causes if cause.doubt)
    factors = [*factors]
    everywhere = [one.everywhere for one in causes] + [one.everywhere for one in factors]
    if everywhere and not any(everywhere):
        doubts[HintKind.PART_OF_RUN] = None
    task, shared = problem.loss.task, HintKind.AT_LIMITS in doubts
    ending = [Defect(one.names, None, requirements_of(task, one.names), shared, one.part) for one in causes]
    sized = [
        Defect(
            (one.cause,), one.size, requirements_of(task, (one.name,)), shared,
            symbol=in_symbols(problem, *one.ends),
        )
        for one in factors
    ]  # fmt: skip
    return Diagnosis((*ending, *sized), tuple(map(Hint, doubts)))
