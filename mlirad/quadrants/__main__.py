"""Run a program written for Quadrants on mlirad, unchanged.

usage: python -m mlirad.quadrants PROGRAM.py [ARGUMENT ...]
       python -m mlirad.quadrants -m MODULE [ARGUMENT ...]

In the program, `import quadrants` imports mlirad under Quadrants' names.
"""

import runpy
import sys
from pathlib import Path

from mlirad.quadrants import alias


def main() -> None:
    """Run the program that the command line names."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print((__doc__ or "").strip())
        return
    is_module = arguments[:1] == ["-m"]
    arguments = arguments[is_module:]
    if not arguments:
        sys.exit("usage: python -m mlirad.quadrants (PROGRAM.py | -m MODULE) [ARGUMENT ...]")
    alias.install()
    sys.argv = arguments
    if is_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
