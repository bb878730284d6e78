"""The tests on a GPU: pytest's where it is installed, else every kernel of `test/programs` against
the CPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time

from benchmarks.driver import ROOT
from benchmarks.worker import STUBBED

SECONDS = 1500.0


def run_tests(arch: str, chosen: list[str], seconds: float = SECONDS) -> tuple[bool, str]:
    """Run tests; whether all passed, and a line that says so."""
    if importlib.util.find_spec("pytest") is None:
        command = [sys.executable, "-m", "benchmarks.gpu.compare", arch]
        what = "every kernel of test/programs against the CPU (pytest is not installed)"
    else:
        workers = ["-n", "0"] if importlib.util.find_spec("xdist") is None else []
        plain = ["-o", "addopts="] if workers else []
        command = [sys.executable, "-m", "pytest", *plain, f"--arch={arch}", "-q", *chosen]
        command += ["--stub"] * (STUBBED in os.environ)
        what = f"pytest --arch={arch} {' '.join(chosen)}".rstrip()
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as late:
        output = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return False, f"{what}: not done after {seconds:.0f} s\n{output[-3000:]}"
    took = time.perf_counter() - start
    text = done.stdout + done.stderr
    last = text.strip().splitlines()[-1] if text.strip() else "no output"
    good = done.returncode == 0
    return good, f"{what}: {last} ({took:.0f} s)" + ("" if good else f"\n{text[-6000:]}")
