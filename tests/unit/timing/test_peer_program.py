"""What stands next to our whole process is the peer's alone."""

import subprocess
import sys
from pathlib import Path

import peer


def test_the_program_of_the_peer_imports_nothing_of_ours():
    program = "import sys, runpy; runpy.run_path(sys.argv[1]); print(*sys.modules)"
    words = [sys.executable, "-c", program, peer.__file__]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in done.stdout.split()}
    own = {path.stem for path in Path(peer.__file__).parent.glob("[a-z]*.py")}
    assert "numpy" in roots
    assert not roots & {"sstep_verify", "sstep_reference", "numba", "scipy", *own}
