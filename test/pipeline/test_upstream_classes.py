"""Programs that import the classes which upstream's bindings have for ops: the code is the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys

import conftest
from programs.gpu_kernels import KERNELS, REVERSED

import mlirad as ti

if sys.argv[1] == "with":
    conftest.import_classes()
SLOW = ("elementary", "functions")
for mode, names in {"primal": KERNELS, "reverse": REVERSED}.items():
    for name in names:
        if name.startswith(SLOW):
            continue
        ti.init(offline_cache=False)
        kernel, arguments = KERNELS[name]()
        print(name, mode, kernel.ptx(*arguments, mode=mode))
        print(kernel.ir(*arguments, stage="target", mode=mode))
"""


def test_code_is_the_same_where_classes_are_imported(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = Path(__file__).parents[1]
    texts = [
        subprocess.run(
            [sys.executable, program, case],
            capture_output=True,
            text=True,
            timeout=600,
            env={"PYTHONPATH": f"{folder}:{folder.parent}"},
            check=True,
        ).stdout
        for case in ("with", "without")
    ]
    assert ".visible .entry" in texts[0]
    assert texts[0] == texts[1]
