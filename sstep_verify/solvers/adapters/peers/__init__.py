"""Peers: published solvers run on our problems, in our convention, with the tolerance they state."""

from sstep_verify.solvers.adapters.peers.box_qp import osqp, piqp
from sstep_verify.solvers.adapters.peers.kernel_ridge import kernel_ridge
from sstep_verify.solvers.adapters.peers.liblinear import liblinear
from sstep_verify.solvers.adapters.peers.solution import PeerSolution

__all__ = ["PeerSolution", "kernel_ridge", "liblinear", "osqp", "piqp"]
