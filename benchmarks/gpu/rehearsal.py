"""`arch=ti.cuda` without a GPU: the tests' stub of the driver, in this process and in those that it
starts."""

from __future__ import annotations

import os
import sys

from benchmarks.driver import ROOT
from benchmarks.worker import STUBBED


def rehearse() -> None:
    """Use the stub from now on."""
    os.environ[STUBBED] = "1"
    stub_if_asked()


def stub_if_asked() -> None:
    """Use the stub where the process that started this one does."""
    if STUBBED in os.environ:
        sys.path.insert(0, str(ROOT / "test"))
        from runtime.cuda.machine import stub_the_driver

        stub_the_driver()
