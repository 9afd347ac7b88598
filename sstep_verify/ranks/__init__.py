"""OUTSIDE THE RANKS: one function, `run`, that calls something on P ranks and survives what they do."""

from sstep_verify.ranks.failures import HangError, LaunchError, MismatchError, RankError, RankLostError
from sstep_verify.ranks.in_place import join
from sstep_verify.ranks.run import run

__all__ = ["HangError", "LaunchError", "MismatchError", "RankError", "RankLostError", "join", "run"]
