"""How lit runs the tests of passes: a server forks for each `mlirad-opt`, `mlirad-run` and
`filecheck`, with everything loaded."""

# ruff: noqa: F821  (lit defines `config`)
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).parent
sys.path.insert(0, str(root / "test"))
from lit_server.start import start  # noqa: E402

config.name = "mlirad"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(root)
config.test_exec_root = str(root / "build" / "lit")
config.excludes = ["build", "irdl"]
client = f"'{sys.executable}' -I -S '{root}/test/lit_server/client.py' '{start()}'"
config.substitutions += [
    (rf"(?<![\w/.-]){name}(?![\w/.-])", f"{client} {name}")
    for name in ("mlirad-opt", "mlirad-run", "filecheck")
]
