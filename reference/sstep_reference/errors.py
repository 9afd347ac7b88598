"""Typed errors of the reference: each names the input, the value met and the way out."""


class SstepReferenceError(Exception):
    """Base of every error the reference raises on purpose."""


class InvalidInputError(SstepReferenceError, ValueError):
    """A number, an array or a parameter handed in cannot be used."""


class UnsupportedOperationError(SstepReferenceError, ArithmeticError):
    """The arithmetic cannot perform the operation, such as an exponential in rationals."""


class SingularSystemError(SstepReferenceError, ArithmeticError):
    """A system that should be positive definite is not, or its enclosure is too wide to tell."""
