"""Unwind tables of what LLVM's engine maps: of code that lies together, or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runtime.cuda.stub import Stub
from runtime.cuda.test_cuda_host_code import compiled

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.runtime.native.engine import engine_of
from mlirad.runtime.native.object_file import read_object

_TO_CODE = 24  # R_X86_64_PC64: from an unwind table to its function

SOURCE = """
llvm.func @near(%call: !llvm.ptr) {
  llvm.call %call() : !llvm.ptr, () -> ()
  llvm.return
}
llvm.func @apart(%call: !llvm.ptr) attributes {section = ".text.startup"} {
  llvm.call %call() : !llvm.ptr, () -> ()
  llvm.return
}
"""


def unwound(engine: Any, file: Path) -> set[int | None]:
    """The sections whose functions an unwind table tells of."""
    engine.dump_to_object_file(str(file))
    found = read_object(file.read_bytes())
    return {one.symbol.section for one in found.relocations if one.kind == _TO_CODE}


@pytest.mark.parametrize("opt_level", [1, 3])
def test_no_table_spans_two_sections(tmp_path: Path, opt_level: int) -> None:
    """The engine's own functions have one, which spans a few bytes."""
    with context(), ir.Location.unknown():
        engine = engine_of(ir.Module.parse(SOURCE), opt_level=opt_level)
    engine.raw_lookup("near")
    assert len(unwound(engine, tmp_path / "object")) <= 1


def test_host_code_of_a_gpu(tmp_path: Path) -> None:
    """Its module is loaded by a function of `.text.startup`."""
    _, code = compiled(Stub())
    assert len(unwound(vars(code)["_owner"], tmp_path / "object")) <= 1


def test_labels_of_other_dialects_are_not_translated() -> None:
    """The translation warns of each of them, with the text of the function."""
    source = (
        "llvm.func @f(%x: !llvm.ptr {field.symbol = @x, llvm.noalias}, %n: i64) { llvm.return }"
    )
    warnings: list[str] = []
    with context() as current, ir.Location.unknown():
        module = ir.Module.parse(source)
        handler = current.attach_diagnostic_handler(
            lambda found: warnings.append(str(found)) or True
        )
        engine = engine_of(module, opt_level=1)
        handler.detach()
    assert engine.raw_lookup("f")
    assert not warnings
    assert "{llvm.noalias}, %arg1: i64)" in str(module)
