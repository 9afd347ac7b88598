"""The check rank-coherence, on digests made here: what ranks of a parallel run would leave."""

from __future__ import annotations

import dataclasses

import numpy as np
from judged import assert_teaches, judged, small_case

from sstep_verify.checks.recorded import rank_coherence as check
from sstep_verify.problems import Hinge
from sstep_verify.problems.problem import fingerprint
from sstep_verify.verdict import Status, Why

RANKS = 3


def _parallel(**options):
    case, tested = small_case(Hinge(0.5), **options)
    declaration = dataclasses.replace(case.declaration, ranks=RANKS, level=3)
    return dataclasses.replace(case, declaration=declaration), tested


def _with_digests(trajectory, changed=None):
    """Digests of every rank; rank 1 at the last recorded iteration holds what `changed` makes of a."""
    digests = {
        iteration: tuple(fingerprint(trajectory.at(iteration)) for _ in range(RANKS))
        for iteration in trajectory.iterations.tolist()
    }
    if changed is not None:
        last = [*digests[trajectory.length]]
        last[1] = fingerprint(changed(trajectory.final.copy()))
        digests[trajectory.length] = tuple(last)
    return dataclasses.replace(trajectory, fingerprints=digests)


def test_equal_ranks_pass():
    for verdict in judged(check, *_parallel(), change=_with_digests).values():
        assert verdict.status is Status.PASS
        assert verdict.executed == verdict.planned > 1


def test_one_bit_on_one_rank_fails():
    def nudge(alpha):
        alpha[2] = np.nextafter(alpha[2], 1.0)
        return alpha

    for verdict in judged(check, *_parallel(), change=lambda run: _with_digests(run, nudge)).values():
        assert verdict.status is Status.FAIL
        assert verdict.measured == 1
        assert verdict.place.item == "rank 1"
        assert_teaches(verdict)


def test_another_number_of_ranks_than_declared_fails():
    def lone(run):
        return dataclasses.replace(
            run, fingerprints={k: digests[:1] for k, digests in _with_digests(run).fingerprints.items()}
        )

    for verdict in judged(check, *_parallel(), change=lone).values():
        assert verdict.status is Status.FAIL
        assert (verdict.place.found, verdict.place.expected) == (1, RANKS)


def test_digests_of_something_else_fail():
    def external(run):
        return dataclasses.replace(run, fingerprints=dict.fromkeys(run.iterations.tolist(), ("0",) * RANKS))

    assert {v.status for v in judged(check, *_parallel(), change=external).values()} == {Status.FAIL}


def _received(run, digests):
    return dataclasses.replace(run, received=np.array(digests))


def test_equal_gifts_of_collectives_alone_do_not_show_that_ranks_hold_the_same():
    """A rank that takes no notice of what it was given, and makes no updates, receives the same as all."""
    case, tested = small_case(Hinge(0.5))
    case = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, ranks=2, level=1))
    assert (
        judged(check, case, tested, change=lambda run: _received(run, [[1, 2, 3], [1, 2, 3]]), of=()) == {}
    )
    for verdict in judged(
        check, case, tested, change=lambda run: _received(run, [[1, 2, 3], [1, 5, 3]])
    ).values():
        assert verdict.status is Status.FAIL
        assert verdict.place.item == "collective 2, rank 1"


def test_ranks_that_never_move_are_vacuous():
    def still(run):
        return _with_digests(dataclasses.replace(run, alphas=np.zeros_like(run.alphas)))

    for verdict in judged(check, *_parallel(), change=still).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.NO_EFFECT


def test_many_ranks_without_digests_are_inconclusive_and_one_rank_has_no_verdict():
    assert {v.status for v in judged(check, *_parallel()).values()} == {Status.INCONCLUSIVE}
    assert judged(check, *small_case(Hinge(0.5)), of=()) == {}


def _witnessed(run, changed=None, calls=5):
    """Digests of what three ranks received, none of them of a."""
    received = np.tile(np.arange(1, calls + 1, dtype=np.uint64), (RANKS, 1))
    if changed is not None:
        received[changed] += 1
    return dataclasses.replace(run, received=received)


def _program():
    case, tested = small_case(Hinge(0.5))
    return dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, level=2)), tested


def test_a_rank_that_received_something_else_is_named_with_the_collective():
    case, tested = _program()
    for verdict in judged(check, case, tested, change=lambda run: _witnessed(run, (2, 3))).values():
        assert verdict.status is Status.FAIL
        assert verdict.place.item == "collective 4, rank 2"
        assert_teaches(verdict)
