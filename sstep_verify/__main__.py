"""``python -m sstep_verify`` is the command ``sstep-verify``."""

from sstep_verify.cli.main import main

main()
