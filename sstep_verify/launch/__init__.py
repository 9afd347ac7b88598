"""OUTSIDE THE RANKS: one function, `run`, that calls something on P ranks and survives what they do."""

from sstep_verify.launch.failures import HangError, LaunchError, MismatchError, RankError, RankLostError
from sstep_verify.launch.in_place import join
from sstep_verify.launch.run import run

__all__ = ["HangError", "LaunchError", "MismatchError", "RankError", "RankLostError", "join", "run"]
