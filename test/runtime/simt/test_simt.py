"""Tests of other files again, on `arch=ti.simt`, where a CPU runs a GPU's kernels: the threads in
an order that no program may rely on.

All tests run so by `python -m pytest --arch=simt --simt-order=descending`; these are a choice of
gradients, tapes, checkpointing, forward mode and control flow.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
AGAIN = [
    (
        "descending",
        "frontend/test_control_flow.py",
        "frontend/test_functions.py",
        "frontend/test_random.py",
        "ad/forward/test_forward_mode.py",
        "ad/tape/test_checked_tapes.py",
        "ad/checkpoint/test_checkpointing.py::TestAround",
    ),
    (
        "descending",
        "ad/functions/test_custom_gradients.py",
        "sweeps/test_reverse_loops.py",
        "ad/forward/test_second_order.py::test_loops_branches_and_saved_values",
        "sweeps/in_place/test_inplace_recurrences.py::test_a_stack_in_a_field",
        "sweeps/in_place/test_inplace_recurrences.py::test_newton_iterations_in_place",
    ),
    ("descending", "sweeps/test_reverse_memory.py", "ad/tape/test_versions.py"),
    ("shuffled", "sweeps/in_place/test_inplace_loops.py", "frontend/test_atomics.py"),
]


@pytest.mark.parametrize(
    ("order", "tests"), [(order, tests) for order, *tests in AGAIN], ids=range(len(AGAIN))
)
def test_in_an_order(order: str, tests: list[str]) -> None:
    """All tests of some files, or of classes in them, in one process: they start in no time."""
    options = ["-n", "0", "-p", "no:cacheprovider", "--arch=simt", f"--simt-order={order}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(TESTS / test) for test in tests)],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
