"""The hint that a run is faulty in its last window only, where s does not divide the iterations.

The reason of a failed run otherwise names a late step or window, as if any other could fail alike.
"""

from __future__ import annotations

from collections.abc import Iterable

from sstep_verify.verdict import Hint, HintKind


def hints_of_last_window(faulty: Iterable[int], length: int, s: int, *, others: bool) -> tuple[Hint, ...]:
    """Return the hint where all that is faulty lies in the last window, and that window is a shorter one.

    Parameters
    ----------
    faulty : iterable of int
        Iterations made before each faulty step or window.
    length, s : int
        Iterations of the run, and those of a full window.
    others : bool
        Whether a full window was judged: otherwise nothing is known of them.
    """
    left, places = length % s, set(faulty)
    if not (left and others and places) or min(places) < length - left:
        return ()
    return (Hint(HintKind.LAST_WINDOW, (float(left), float(s))),)
