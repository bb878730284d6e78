"""The kernels that a device's memory runs for itself, as a GPU takes them."""

from __future__ import annotations

import re

import pytest

from benchmarks.assembler import assemble, tool
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.ptx import to_ptx
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.gpu import cuda_stages
from mlirad.pipeline.stages.stage import behind, join
from mlirad.runtime.memory.device.service_ir import Operation, Service, build

CHIP = "sm_90"
# what each does to a word, and the bytes of its words
TRAFFIC = {
    Operation.COPY: (1, 1),
    Operation.EXCHANGE: (2, 2),
    Operation.ADD: (2, 1),
    Operation.FILL: (0, 1),
    Operation.FILL_WHERE: (1, 1),
    Operation.DIFFER: (3, 1),
    Operation.ANY: (2, 1),
    Operation.GATHER: (2, 1),
    Operation.SCATTER: (2, 1),
}


def _ptx(service: Service) -> str:
    stages = behind("normal", cuda_stages(PRIMAL, fast_math=False))
    with context(), ir.Location.unknown():
        module = build(service)
        run_pipeline(module.operation, join(stages))
        return to_ptx(module.operation, CHIP)


@pytest.mark.parametrize("operation", Operation)
def test_a_word_is_read_once_and_written_once(operation: Operation) -> None:
    found = _ptx(Service(operation, "f64" if operation is Operation.ADD else "i64", 1))
    loads, stores = len(re.findall(r"\tld\.global", found)), len(re.findall(r"\tst\.global", found))
    assert (loads, stores) == TRAFFIC[operation]
    assert not re.search(r"\.local|atom|red\.|bar\.|div", found)


@pytest.mark.skipif(tool("ptxas") is None, reason="no ptxas")
@pytest.mark.parametrize("rank", [1, 3, 4])
@pytest.mark.parametrize("operation", Operation)
def test_ptxas_takes_them(operation: Operation, rank: int) -> None:
    word = "f32" if operation is Operation.ADD else "i32"
    kernels = assemble(_ptx(Service(operation, word, rank)), disassemble=False)
    assert len(kernels) == 1
