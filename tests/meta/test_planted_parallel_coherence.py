"""One rank whose dual vector is off by planted bits: its peers tell, or the check does where they are made deaf."""

from __future__ import annotations

import pytest
from judged import judged
from planted_ranks import PlantedSolver
from test_planted_parallel import (
    DEAF,
    ITERATIONS,
    PRODUCTION,
    UNREDUCED,
    UPDATED,
    WINDOWS,
    S,
    case_of,
    request_of,
    status,
    window_of,
)

from sstep_verify.adapters.training import TrainingSolver
from sstep_verify.checks.recorded import rank_coherence
from sstep_verify.problems import Hinge, RBFKernel, Ridge
from sstep_verify.ranks import RankError
from sstep_verify.verdict import Status

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")

OWN_WAY = {
    WINDOWS: [
        (
            UPDATED,
            UPDATED
            + "        recurrence.alpha[columns[0]] = np.nextafter(recurrence.alpha[columns[0]], 9.0)\n",
        )
    ]
}


@pytest.mark.parametrize(
    ("ranks", "guilty"),
    [pytest.param(2, 1, marks=pytest.mark.nightly), (3, 1), pytest.param(4, 3, marks=pytest.mark.nightly)],
)
def test_one_bit_on_one_rank_is_seen_in_the_next_window(ranks, guilty):
    request = request_of(loss=Ridge(0.5))
    with pytest.raises(RankError) as caught:
        PlantedSolver(ranks, {}, OWN_WAY, guilty).run(request)
    assert caught.value.kind == "IncoherenceError"
    assert window_of(caught.value) == 0
    if ranks > 2:
        assert f"rank {guilty}: " in caught.value.failures[0][1]


@pytest.mark.parametrize(("ranks", "guilty"), [pytest.param(2, 1, marks=pytest.mark.nightly), (3, 1)])
def test_one_bit_on_one_rank_is_red_though_the_signature_is_ignored(ranks, guilty):
    request = request_of(loss=Hinge(1.0))
    assert status(rank_coherence, request, ranks, DEAF) is Status.PASS
    assert status(rank_coherence, request, ranks, DEAF, OWN_WAY, guilty) is Status.FAIL


TOLD = {
    f"{PRODUCTION}.run": [
        ("tuple(digest for digest, *_ in answers)", "tuple(answers[0][0] for _ in answers)")
    ]
}
OFF = {WINDOWS: [(UPDATED, UPDATED + "        recurrence.alpha[columns[0]] += 1e-3\n")]}


@pytest.mark.parametrize(("ranks", "guilty"), [pytest.param(2, 1, marks=pytest.mark.nightly), (3, 1)])
def test_a_rank_that_is_off_is_red_though_the_digest_of_rank_0_is_reported_for_all(ranks, guilty):
    request = request_of(loss=Hinge(1.0))
    assert status(rank_coherence, request, ranks, DEAF | TOLD) is Status.PASS
    assert status(rank_coherence, request, ranks, DEAF | TOLD, OFF, guilty) is Status.FAIL


def test_training_hands_out_a_digest_of_every_rank():
    solver = TrainingSolver(2, interval=2)
    found = solver.run(request_of())
    assert {k: len(digests) for k, digests in found.fingerprints.items()} == {0: 2, ITERATIONS: 2}
    assert judged(rank_coherence, case_of(request_of(), solver), solver)[S].status is Status.PASS


@pytest.mark.parametrize("ranks", [2, *(pytest.param(one, marks=pytest.mark.nightly) for one in (3, 4))])
def test_ranks_with_other_norms_no_longer_hold_the_same_vector(ranks):
    with pytest.raises(RankError) as caught:
        PlantedSolver(ranks, UNREDUCED).run(request_of(kernel=RBFKernel(0.1)))
    assert caught.value.kind == "IncoherenceError"
    assert window_of(caught.value) == 0
