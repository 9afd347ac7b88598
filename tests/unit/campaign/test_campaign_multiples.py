"""Numbers of ranks that divide the samples or the features of every problem are named as not looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.campaign.summary import multiples_only
from sstep_verify.report.case import Case
from sstep_verify.verdict import Status, Verdict


def judged_case(name: str, samples: int, features: int, ranks: int) -> Case:
    return Case(
        id=name, problem=name, dataset="d", kernel="k", loss="l", task="svm-l1", samples=samples,
        features=features, block=1, status=Status.PASS, s=(7,), facts={"ranks": ranks},
    )  # fmt: skip


def verdict(name: str, check: str = "step-replay", executed: int = 1) -> Verdict:
    return Verdict(check, name, "p", 7, 1, Status.PASS, 0.1, 0.1, 1.0, "absolute", 1, executed)


def lost(size: int, ranks: int) -> int:
    """Columns or rows that no rank has if each takes ``size // ranks`` of them: the planted defect."""
    return size - sum(
        len(range(rank * (size // ranks), (rank + 1) * (size // ranks))) for rank in range(ranks)
    )


@pytest.mark.parametrize("seed", range(30))
def test_ranks_are_named_where_a_lost_remainder_has_no_effect_on_any_problem(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    cases = [
        judged_case(str(place), *drawn.integers(4, 13, 2).tolist(), ranks)
        for place in range(int(drawn.integers(1, 4)))
        for ranks in drawn.choice([1, 2, 3, 4, 6], 2, replace=False).tolist()
    ]
    cases = [replace(case, id=f"{case.id}-P={case.facts['ranks']}") for case in cases]
    found = multiples_only(cases, [verdict(case.id) for case in cases])
    for name in ("samples", "features"):
        for ranks in {int(case.facts["ranks"]) for case in cases} - {1}:
            own = [case for case in cases if case.facts["ranks"] == ranks]
            hidden = not any(lost(getattr(case, name), ranks) for case in own)
            assert (ranks in found.get(name, ())) is hidden


def test_a_case_of_which_nothing_was_compared_shows_no_remainder():
    even, odd = judged_case("even", 8, 6, 2), judged_case("odd", 9, 7, 2)
    told = [verdict("even"), verdict("odd", "contract"), verdict("odd", executed=0)]
    assert multiples_only([even, odd], told) == {"samples": [2], "features": [2]}
    assert multiples_only([even, odd], [*told, verdict("odd")]) == {}


def test_one_rank_has_every_column():
    assert multiples_only([judged_case("a", 8, 6, 1)], [verdict("a")]) == {}
