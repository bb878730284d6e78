"""A plugin for pytest: what a test compiles is written in short form and read again, at every stage
of the machine and of a GPU, and has to be the same.

    PYTHONPATH=test python -m pytest -n 0 -p round_trips test/ad/tape

Modes are those that tests compile; the last line says how many modules there were.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fuzz.short_forms import differences

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import TaichiCompilationError
from mlirad.kernel.array_arguments import copy_of
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.gpu import cuda_stages
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.kernels.codes import Codes
from mlirad.runtime.kernels.kernel_ir import KernelIR

seen: set[str] = set()


def modules(stages: KernelIR, mode: Mode) -> Iterator[ir.Module]:
    """Yield a kernel at every stage."""
    yield stages.kernel.module
    for pipeline in (stages.stages(mode), cuda_stages(mode)):
        module = copy_of(stages.kernel.module)
        for stage in pipeline:
            try:
                run_pipeline(module.operation, join([stage]))
            except TaichiCompilationError:
                break  # the test sees it, or the machine is another
            yield module


@pytest.fixture(autouse=True)
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write and read what is compiled."""
    differing: list[str] = []
    original = Codes._compile

    def compile_and_read(codes: Codes, mode: Mode) -> object:
        code = original(codes, mode)
        with context(), codes.stages.kernel.module.operation.location:
            for module in modules(codes.stages, mode):
                if (text := str(module)) not in seen:
                    seen.add(text)
                    differing.extend(differences(module.operation))
        return code

    monkeypatch.setattr(Codes, "_compile", compile_and_read)
    yield
    assert not differing, "\n".join(differing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many modules there were."""
    terminalreporter.write_line(f"{len(seen)} modules written and read")
