"""A program of any language as a solver: described by a file, run by itself, read by what it leaves."""

from sstep_verify.adapters.program.file import ProgramFile as ProgramFile
from sstep_verify.adapters.program.file import program_from as program_from
from sstep_verify.adapters.program.file import read_program as read_program
from sstep_verify.adapters.program.run import digests as digests
from sstep_verify.adapters.program.run import set_up as set_up
from sstep_verify.adapters.program.solver import ProgramSolver as ProgramSolver
from sstep_verify.adapters.program.tables import Program as Program
from sstep_verify.adapters.program.translate import Conventions as Conventions
