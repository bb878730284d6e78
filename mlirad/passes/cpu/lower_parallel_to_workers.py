"""Parallel loops to functions of an iteration, which the threads of a process take one by one.

    scf.parallel (%k) = (%c0) to (%c8) step (%c1) { func.call @f.chunk0(...) }

becomes a store of what the loop uses into a frame, and a call of what the state of the workers
begins with (`runtime/cpu/worker_code.py`), which calls `f.piece0(frame, k)` for all k. A kernel
with such a loop takes the address of that state.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir import build as b
from mlirad.ir.limits import Threads
from mlirad.ir.memory.descriptor import memref_at, pointer_of, pointer_type
from mlirad.ir.ops import Func, Llvm, Scf
from mlirad.ir.reports.loop_names import symbol_suffix
from mlirad.ir.requirements import KERNELS, refuse, symbol_of
from mlirad.ir.signature import (
    function_type,
    parameter_attributes,
    set_signature,
    workers_label,
)
from mlirad.ir.structured import Parallel, is_parallel
from mlirad.ir.walk import (
    at_end,
    at_start,
    before,
    block_operations,
    captured_values,
    clone,
    constant_integer,
    entry_of,
    functions,
    operations,
    owner_operation,
)


def loops_over_pieces(root: ir.Operation) -> None:
    """Require parallel loops to go from 0 in steps of 1 along one axis, and to use numbers,
    pointers, and memory of which no extent is given."""
    for function in functions(root):
        for op in [inner for inner in operations(function) if is_parallel(inner)]:
            loop = Parallel(op)
            bounds = [constant_integer(value) for value in (*loop.lower, *loop.steps)]
            if loop.rank != 1 or bounds != [0, 1]:
                refuse(op, "a parallel loop, expected one from 0 in steps of 1 along one axis")
            for value in captured_values(op):
                if not _is_a_word(value.type):
                    refuse(op, f"a parallel loop that uses {value.type}, which is not a word")


REQUIRES = (*KERNELS, loops_over_pieces)


def lower_parallel_to_workers(module: ir.Operation, *, threads: Threads = 1) -> None:
    """Let up to `threads` threads share the iterations of parallel loops over one axis."""
    for function in functions(module):
        loops = [op for op in operations(function) if is_parallel(op)]
        if loops:
            state = _state_of_workers(function)
        for number, op in enumerate(loops):
            name = f"{symbol_of(function)}.piece{number}{symbol_suffix(op, '.')}"
            _share(module, function, Parallel(op), state, name, threads)


def _state_of_workers(function: ir.Operation) -> ir.Value:
    """The parameter of a kernel that has their address, which is added."""
    entry = entry_of(function)
    labels = [*parameter_attributes(function), workers_label()]
    state = entry.add_argument(pointer_type(), function.location)
    set_signature(function, function_type(function).results, labels)
    return state


def _share(
    module: ir.Operation,
    function: ir.Operation,
    loop: Parallel,
    state: ir.Value,
    name: str,
    threads: int,
) -> None:
    passed = [value for value in captured_values(loop.op) if not _is_constant(value)]
    i64 = b.integer_type(64)
    with at_start(entry_of(function), loop.op.location):
        frame = b.alloca(ir.MemRefType.get([max(1, len(passed))], i64))
    _make_piece(module, loop, name, passed)
    with before(loop.op):
        for position, value in enumerate(passed):
            b.write(_as_word(value), frame, [b.index(position)])
        share = b.make(Llvm.LOAD, pointer_type(), [state])
        count = b.index_cast(loop.upper[0], i64)
        arguments = [state, _address(name), pointer_of(frame), count, b.number(threads, i64)]
        b.llvm_call("", [share, *arguments])
    loop.op.erase()


def _make_piece(module: ir.Operation, loop: Parallel, name: str, passed: list[ir.Value]) -> None:
    """Add the function of an iteration."""
    i64 = b.integer_type(64)
    with ir.InsertionPoint(module.regions[0].blocks[0]), loop.op.location:
        entry = entry_of(b.function(name, [pointer_type(), i64]))
    values: dict[ir.Value, ir.Value] = {}
    with at_end(entry, loop.op.location):
        words = ir.MemRefType.get([max(1, len(passed))], i64)
        frame = memref_at(entry.arguments[0], words, [max(1, len(passed))], [1])
        for position, value in enumerate(passed):
            values[value] = _from_word(b.read(frame, [b.index(position)]), value.type)
        for value in captured_values(loop.op):
            if _is_constant(value):
                clone(owner_operation(value), values)
        number = b.to_index(entry.arguments[1])
        values[loop.indices[0]] = number
        for op in block_operations(loop.body):
            if op.name != Scf.REDUCE:
                clone(op, values)
        b.return_()


def _is_constant(value: ir.Value) -> bool:
    return constant_integer(value) is not None


def _is_a_word(type_: ir.Type) -> bool:
    if isinstance(type_, ir.MemRefType):
        strides, offset = type_.get_strides_and_offset()
        return type_.has_static_shape and min([*strides, offset], default=0) >= 0 == offset
    if isinstance(type_, ir.IntegerType):
        return type_.width <= 64
    return isinstance(type_, ir.IndexType) or str(type_) in (*ELEMENT_SIZES, "!llvm.ptr")


def _as_word(value: ir.Value) -> ir.Value:
    """A value in 64 bits; of a memref its address."""
    i64, type_ = b.integer_type(64), value.type
    if isinstance(type_, ir.MemRefType):
        value, type_ = pointer_of(value), pointer_type()
    if type_ == pointer_type():
        return b.ptrtoint(value, i64)
    if isinstance(type_, ir.IndexType):
        return b.index_cast(value, i64)
    if b.is_float(type_):
        type_ = b.integer_type(ELEMENT_SIZES[str(type_)] * 8)
        value = b.bitcast(value, type_)
    return value if type_ == i64 else b.extui(value, i64)


def _from_word(word: ir.Value, type_: ir.Type) -> ir.Value:
    """The value of a type that became a word."""
    if isinstance(type_, ir.MemRefType):
        strides, _ = type_.get_strides_and_offset()
        return memref_at(_from_word(word, pointer_type()), type_, type_.shape, strides)
    if type_ == pointer_type():
        return b.inttoptr(word, type_)
    if isinstance(type_, ir.IndexType):
        return b.index_cast(word, type_)
    if b.is_float(type_):
        bits = b.integer_type(ELEMENT_SIZES[str(type_)] * 8)
        return b.bitcast(_from_word(word, bits), type_)
    return word if type_ == word.type else b.trunci(word, type_)


def _address(name: str) -> ir.Value:
    """The address of the function of an iteration."""
    type_ = ir.FunctionType.get([pointer_type(), b.integer_type(64)], [])
    function = b.make(Func.CONSTANT, type_, [], value=ir.FlatSymbolRefAttr.get(name))
    return b.unrealized_cast(function, pointer_type())
