"""What a speed-up is made of: known factors are found again, and always multiply to the speed-up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.timing.autopsy import Factors, factors, study
from sstep_verify.timing.measure import SUBJECT, Delay, Plan, Sample

LATENCY = 100.0
"""Seconds of a collective of the made-up programs."""


def made_up(s: int, classical: float, own: float, own_s: float) -> Factors:
    """Made-up seconds: what an iteration computes, be it on one rank or on several, and a collective a window."""
    return factors(
        own + LATENCY, own_s + LATENCY / s, classical + LATENCY, own, own_s, classical,
        LATENCY * (1 - 1 / s), 1 / s,
    )  # fmt: skip


def test_fewer_messages_alone():
    """Nothing is gained but messages: the panel's factor is 1, whichever is counted first."""
    found = made_up(8, 10.0, 10.0, 10.0)
    assert found.weak == found.panel == pytest.approx(1.0)
    assert found.messages == pytest.approx(110.0 / 22.5)
    assert found.messages_first == pytest.approx(found.messages)
    assert found.panel_last == pytest.approx(1.0)


def test_a_better_product_alone():
    """No message is saved: s-step is faster for its product, on any number of ranks."""
    found = factors(40.0, 10.0, 40.0, 40.0, 10.0, 40.0, 0.0, 1.0)
    assert (found.weak, found.panel, found.messages) == pytest.approx((1.0, 4.0, 1.0))
    assert (found.messages_first, found.panel_last) == pytest.approx((1.0, 4.0))


def test_a_weak_baseline_alone():
    """A program whose classical method forms everything anew, and whose s-step is our classical method."""
    found = factors(60.0, 20.0, 20.0, 60.0, 20.0, 20.0, 0.0, 1.0)
    assert (found.total, found.weak, found.panel, found.messages) == pytest.approx((3.0, 3.0, 1.0, 1.0))
    assert found.over_strong == pytest.approx(1.0)


def test_a_program_that_is_slow_throughout_has_saved_messages_for_all_that():
    """Ten times slower than ours, in both methods: no product is better, and messages gain at most s."""
    found = made_up(8, 1.0, 10.0, 10.0)
    assert found.panel == pytest.approx(1.0)
    assert found.weak == pytest.approx(110.0 / 101.0)
    assert 1.0 < found.messages < 8.0
    assert found.over_strong == pytest.approx(101.0 / 22.5)


def test_our_classical_solver_faster_than_its_s_step_leaves_nothing_but_a_weak_baseline():
    found = factors(60.0, 20.0, 5.0, 60.0, 20.0, 5.0, 0.0, 1.0)
    assert (found.weak, found.panel, found.messages) == pytest.approx((3.0, 1.0, 1.0))
    assert found.over_strong == pytest.approx(0.25)


def test_known_factors_together():
    """Classical thrice as slow as ours, a product twice as fast, latency that is all there is."""
    found = made_up(16, 10.0, 30.0, 5.0)
    assert found.weak == pytest.approx(130.0 / 110.0)
    assert found.panel == pytest.approx(2.0)
    assert found.messages == pytest.approx(110.0 / (5.0 + LATENCY / 16) / 2.0)
    assert found.messages_first == pytest.approx(110.0 / (110.0 - LATENCY * 15 / 16))


SECONDS = st.floats(1e-7, 10.0)


@given(*[SECONDS] * 6, st.floats(-1.0, 100.0), st.floats(0.0, 2.0))
def test_the_factors_multiply_to_the_speed_up_in_either_order(
    own, own_s, strong, own1, own1_s, strong1, saved, fewer
):
    found = factors(own, own_s, strong, own1, own1_s, strong1, saved, max(fewer, 1e-3))
    assert found.total == own / own_s
    assert found.weak * found.panel * found.messages == pytest.approx(found.total)
    assert found.weak * found.messages_first * found.panel_last == pytest.approx(found.total)
    assert found.messages_first >= 1.0
    assert min(own, own_s) / own_s <= found.total / found.weak * (1 + 1e-12)


class Known:
    """A solver of known seconds, with its collective."""

    def __init__(self, name, classical, computing):
        self.name, self._classical, self._computing = name, classical, computing

    def sample(self, s, ranks, delay, seconds, exchange=""):
        """What an iteration takes; some exchanges are slower."""
        work = (self._classical if s == 1 else self._computing) + 5.0 * (exchange == "slow")
        return Sample(work + LATENCY / s * (delay != Delay()), 1.0 / s, 10.0)

    def collective(self, ranks, delay, seconds):
        """One alone."""
        return 0.0


def dissected(program):
    plan = Plan((1, 4, 16), (Delay(), Delay(200.0)), 2, 3, 0.1)
    return study(program, Known("ours", 10.0, 5.0), "a problem", plan, ("slow", "fast"))


def test_an_autopsy_finds_the_strong_baseline_and_says_so():
    found = dissected(Known("theirs", 30.0, 5.0))
    assert found.strongest(2) == found.strongest(1) == "fast"
    assert found.best == 16
    assert found.factors(16) == made_up(16, 10.0, 30.0, 5.0)
    assert len(found.spread(16)) == 3
    told = found.sentence()
    assert told.startswith(
        "Of the 11.6-fold speed-up at s = 16 (P = 2, 200 us), a factor 1.18 [1.18, 1.18] is"
    )
    text = "\n".join(found.lines("a machine"))
    assert "our classical, fast (strong: both)" in text
    assert "its own classical " in text
    assert "fast, not late: classical" in text
    made = json.loads(json.dumps(found.document({})))
    assert made["sentence"] == told
    assert [one["s"] for one in made["factors"]] == [4, 16]
    late = ["program"] * 6 + ["slow", "fast"] * 2
    assert [one["who"] for one in made["cells"]] == late + [
        f"{who}, not late" for who in ("program", "slow", "fast")
    ]
    assert found.files()["csv"].splitlines()[0].startswith("s,total,weak,panel,messages")


def test_a_worse_product_is_called_one():
    told = dissected(Known("theirs", 5.0, 20.0)).sentence()
    assert "0.50 [0.50, 0.50] is a worse panel product" in told


def test_our_own_classical_method_may_be_the_strong_one():
    plan = Plan((1, 4), (Delay(), Delay(200.0)), 2, 3, 0.1)
    alone = study(None, Known("ours", 10.0, 5.0), "a problem", plan, ("slow",))
    assert alone.strongest(2) == alone.strongest(1) == SUBJECT
    assert alone.factors(4).weak == 1.0
    assert "its own classical (strong: both)" in "\n".join(alone.lines("a machine"))
