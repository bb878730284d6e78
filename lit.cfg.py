"""How lit runs the tests of passes: `mlirad-opt` and `filecheck` are those of the Python that runs lit."""
# ruff: noqa: F821  (lit defines `config`)
import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).parent
config.name = "mlirad"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(root)
config.test_exec_root = str(root / "build" / "lit")
config.excludes = ["build"]
config.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(root)]))
config.substitutions += [
    (r"(?<![\w/.-])mlirad-opt(?![\w/.-])", f"'{sys.executable}' -m mlirad.pipeline.opt"),
    (r"(?<![\w/.-])filecheck(?![\w/.-])", f"'{sys.executable}' -m filecheck"),
]
