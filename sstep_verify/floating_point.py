"""The floating-point environment of this thread: rounding to nearest, and subnormal numbers that are kept.

Every bound and every judgement assumes the IEEE default. A library linked with ``-ffast-math`` sets
flush-to-zero and denormals-are-zero in the thread that loads it, and says nothing; what is computed there
afterwards, by whomever, takes numbers below the smallest normal one as 0. Looked at here is how arithmetic
behaves, which is the same on every processor.

Source: IEEE 754-2019, sections 4.3 and 7.5; ``fenv.h`` of ISO C.
"""

from __future__ import annotations

import ctypes
import struct
import warnings

FLUSHED, READ_AS_ZERO = "flush-to-zero", "denormals-are-zero"

SUBNORMAL = (FLUSHED, READ_AS_ZERO)
"""What takes numbers below the smallest normal one as 0, and leaves all others alone."""

DIRECTED, SHORTENED = "rounding other than to nearest", "extended precision cut to double"

DEFAULT = ctypes.c_void_p(-1)
"""``FE_DFL_ENV`` of the C libraries of Linux."""


class EnvironmentWarning(UserWarning):
    """The floating-point environment was not that of IEEE arithmetic, and was put back."""


def altered() -> tuple[str, ...]:
    """What is not as IEEE arithmetic has it by default in this thread, in words; empty if all is."""
    import numpy as np  # Not where a command's help alone is asked for.

    # A subnormal constant is 0 where the module that holds it is compiled while numbers are flushed.
    (smallest_subnormal,) = struct.unpack("<d", b"\1" + 7 * b"\0")
    one, half, small, extended = np.float64(1.0), np.float64(0.5), np.float64(2.0**-1022), np.longdouble(1)
    quarter_ulp = np.float64(2.0**-54)
    with np.errstate(all="ignore"):
        deviations = {
            FLUSHED: small * half == 0.0,
            READ_AS_ZERO: np.float64(smallest_subnormal) * np.float64(2.0**60) == 0.0,
            # Upwards the first is above 1; downwards and towards 0 the second is below.
            DIRECTED: one + quarter_ulp != one or one - quarter_ulp / 2 != one,
            SHORTENED: extended + np.finfo(np.longdouble).eps == extended,
        }
    return tuple(name for name, is_so in deviations.items() if is_so)


def restore() -> tuple[str, ...]:
    """Put back what is not as IEEE arithmetic has it by default; what that was, in words."""
    deviations = altered()
    if deviations:
        ctypes.CDLL(None).fesetenv(DEFAULT)
    return deviations


def restore_with_warning(when: str) -> None:
    """The same before something that judges, or after foreign code, by an `EnvironmentWarning`."""
    if deviations := restore():
        warnings.warn(
            f"{when} this process had {', '.join(deviations)}, as a library built with -ffast-math sets "
            "when it is loaded; it was put back, so what follows is IEEE arithmetic",
            EnvironmentWarning,
            stacklevel=3,
        )
