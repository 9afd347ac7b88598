"""The sequence of ``srand(seed); rand()`` of the GNU C library, from which many C programs draw."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MULTIPLIER, MODULUS = 16807, 2**31 - 1
LAGS, DISCARDED = (3, 31), 310


def rand(seed: int) -> Iterator[int]:
    """Numbers in 0..2^31-1.

    The state is 31 numbers of ``16807 x mod 2^31 - 1``; then ``r_i = r_(i-3) + r_(i-31) mod 2^32``, of
    which the first 310 are dropped and the rest lose their last bit. A seed of 0 is taken as 1.

    Source: the additive feedback generator that glibc documents for ``random`` (TYPE_3, degree 31).
    """
    state = [np.int32(np.uint32(seed or 1)).item()]
    for _ in range(LAGS[1] - 1):
        # As C divides: towards zero, and a negative remainder is brought up.
        state.append(int(np.fmod(MULTIPLIER * state[-1], MODULUS)) % MODULUS)
    state += state[:3]
    for place in range(3 + LAGS[1], 3 + LAGS[1] + DISCARDED):
        state.append((state[place - LAGS[0]] + state[place - LAGS[1]]) % 2**32)
    state = state[-LAGS[1] :]
    while True:
        new = (state[-LAGS[0]] + state[-LAGS[1]]) % 2**32
        state = [*state[1:], new]
        yield new >> 1
