"""The command ``solve`` with a mistake of one rank in the middle of its run; a program for every rank.

Called as: solve_faults.py FAULT GUILTY WHERE solve OPTIONS...; the fault happens on rank GUILTY at its
reduction number WHERE.
"""

import sys

from launch_faults import DEADLY, ENDLESS

from sstep_verify.cli.main import main
from sstep_verify.ranks.environment import promised_rank
from sstep_verify.solver.communicator import MpiCommunicator

fault, guilty, where = sys.argv[1:4]
del sys.argv[1:4]
allreduce, entered = MpiCommunicator.allreduce, 0


def faulty(self, buffer):
    global entered
    entered += 1
    if entered == int(where):
        if fault == "skipped":
            return
        {**ENDLESS, **DEADLY}[fault]()
    allreduce(self, buffer)


if promised_rank() == int(guilty):
    MpiCommunicator.allreduce = faulty
main()
