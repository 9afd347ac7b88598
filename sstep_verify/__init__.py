"""Numerical verification and stability tests of s-step dual coordinate descent."""

__version__ = "0.1.0"
