"""What `merge-atomics` makes adds as much to every element, by vectors that lie at multiples of
their size: run by Python, as simt does not run code of a chip."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.walk import block_operations, llvm_functions
from mlirad.passes.gpu.merge_atomics import merge_atomics

FILE = Path(__file__).parent / "gpu" / "merge_atomics.mlir"
SIZES = {"f16": 2, "f32": 4}
BASE = 1 << 20
FUNCTIONS = ("pair", "reversed", "row", "numbers", "matrix", "halves", "twice")

Memory = Counter[int]


def _argument(number: int, type_: str, index: int) -> int | Fraction:
    if "ptr" in type_:
        return BASE << number
    return index if type_.startswith("i") else Fraction(2 * number + 1, 7)


def _run(function: ir.Operation, index: int) -> Memory:
    """Return what a function adds to each address; elements that it reads hold a third."""
    block, memory = function.regions[0].blocks[0], Memory()
    values = {a: _argument(n, str(a.type), index) for n, a in enumerate(block.arguments)}
    for op in block_operations(block):
        operands = [values[operand] for operand in op.operands]
        result = _RUN[op.name](op, operands, memory)
        values.update(dict.fromkeys(op.results, result))
    return memory


def _pointer(op: ir.Operation, operands: list[int], memory: Memory) -> int:
    size = SIZES[str(ir.TypeAttr(op.attributes["elem_type"]).value)]
    return operands[0] + operands[1] * size


def _add(op: ir.Operation, operands: list[int], memory: Memory) -> None:
    memory[operands[0]] += operands[1]


def _add_vector(op: ir.Operation, operands: list[int], memory: Memory) -> None:
    text = ir.StringAttr(op.attributes["asm_string"]).value
    parts = re.fullmatch(r"red\.relaxed\.gpu\.global\.add(?:\.noftz)?(\.v\d)?\.(f\d+) \[.*;", text)
    assert parts is not None, text
    address, *values = operands
    assert len(values) == int((parts[1] or ".v1")[2:])
    assert address % (SIZES[parts[2]] * len(values)) == 0, "a vector that is not aligned"
    for number, value in enumerate(values):
        memory[address + number * SIZES[parts[2]]] += value


_RUN = {
    "llvm.mlir.constant": lambda op, xs, memory: ir.IntegerAttr(op.attributes["value"]).value,
    "llvm.add": lambda op, xs, memory: sum(xs),
    "llvm.mul": lambda op, xs, memory: xs[0] * xs[1],
    "llvm.and": lambda op, xs, memory: xs[0] & xs[1],
    "llvm.icmp": lambda op, xs, memory: xs[0] != xs[1],
    "llvm.select": lambda op, xs, memory: xs[1] if xs[0] else xs[2],
    "llvm.fmul": lambda op, xs, memory: xs[0] * xs[1],
    "llvm.fadd": lambda op, xs, memory: sum(xs),
    "llvm.load": lambda op, xs, memory: Fraction(1, 3),
    "llvm.getelementptr": _pointer,
    "llvm.atomicrmw": _add,
    "llvm.inline_asm": _add_vector,
    "llvm.return": lambda op, xs, memory: None,
    **dict.fromkeys(
        ("llvm.sext", "llvm.bitcast", "llvm.ptrtoint", "llvm.addrspacecast"),
        lambda op, xs, memory: xs[0],
    ),
}


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_much_is_added_to_every_element(name: str, index: int) -> None:
    """Wherever a row begins."""
    with context():
        modules = [ir.Module.parse(FILE.read_text()) for _ in range(2)]
        merge_atomics(modules[1].operation)
        plain, merged = (
            next(
                op
                for op in llvm_functions(module.operation)
                if ir.StringAttr(op.attributes["sym_name"]).value == name
            )
            for module in modules
        )
        assert "inline_asm" in str(merged)
        assert _run(plain, index) == _run(merged, index)
