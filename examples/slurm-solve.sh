#!/bin/sh
# Train on 4 nodes; the features are distributed over all ranks. Submit with: sbatch slurm-solve.sh
#SBATCH --job-name=sstep-solve
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
#SBATCH --cpus-per-task=1
#SBATCH --time=02:00:00
#SBATCH --requeue

# Unpacked, since every rank would have to unpack a compressed file for itself; on a file system all nodes see.
DATA=${DATA:-$HOME/data/news20.binary}
RESULT=${RESULT:-$HOME/results/news20.npz}

# One thread a rank: the ranks share the cores already.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# --resume continues from the checkpoint if there is one, so the same script serves a job that was requeued
# or ran out of time: submit it again. It must run on as many ranks as before.
# A rank that is lost or hangs ends the job with an exit code other than 0 and is named in the output; where that
# takes a slow run for a hang, allow it more seconds than --hang-limit 40.
# mpiexec is the one installed next to sstep-verify; it learns the nodes from SLURM. "mpiexec -n 2 sstep-verify
# doctor" tells whether the ranks see one world. With an MPI that was built for SLURM, "srun --mpi=pmix" in the
# place of "mpiexec -n ..." does as well (or --mpi=pmi2; "srun --mpi=list" tells what there is).
mpiexec -n "$SLURM_NTASKS" sstep-verify solve "$DATA" --task svm-l2 --kernel linear --C 1 \
  --s 64 --tolerance 1e-4 --out "$RESULT" --resume
