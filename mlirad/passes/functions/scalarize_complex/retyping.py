"""Memory of complex numbers as memory of floats with one more axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Func, Memref
from mlirad.ir.requirements import is_private, refuse
from mlirad.ir.split_values.carrying import ENDS, HOLDERS
from mlirad.ir.split_values.scalars import Scalars, SplitValues
from mlirad.ir.walk import operations

ARGUMENT = "field.complex_argument"


def is_memory(type_: ir.Type) -> bool:
    """Return whether a type is that of memory of complex numbers."""
    return isinstance(type_, ir.MemRefType) and isinstance(type_.element_type, ir.ComplexType)


def float_memory(op: ir.Operation, type_: ir.Type) -> ir.Type:
    """Return the type of the same memory as floats; other types stay."""
    if not is_memory(type_):
        return type_
    memory = ir.MemRefType(type_)
    element = ir.ComplexType(memory.element_type).element_type
    layout = None if _is_identity(memory) else _float_layout(op, memory)
    shape = [*memory.shape, 2]
    return ir.MemRefType.get(shape, element, layout, memory.memory_space, op.location)


def _is_identity(memory: ir.MemRefType) -> bool:
    return str(memory.layout).startswith("affine_map") and memory.layout == (
        ir.AffineMapAttr.get(ir.AffineMap.get_identity(memory.rank))
    )


def _float_layout(op: ir.Operation, memory: ir.MemRefType) -> ir.Attribute:
    if not isinstance(memory.layout, ir.StridedLayoutAttr):
        refuse(op, f"'{op.name}' of {memory}, expected strides")
    strides, offset = memory.get_strides_and_offset()
    return ir.StridedLayoutAttr.get(_doubled(offset), [*map(_doubled, strides), 1])


def _doubled(number: int) -> int:
    return number if number == ir.ShapedType.get_dynamic_size() else 2 * number


def retype_memory(module: ir.Operation) -> None:
    """Give values and functions the types of memory of floats; loads and stores are split later."""
    for function in [op for op in operations(module) if op.name == Func.FUNC]:
        memory = list(_memory_values(function))
        for op in operations(function):
            if any(is_memory(value.type) for value in (*op.operands, *op.results)):
                _extend(op)
        _retype_function(function)
        for value, owner in memory:
            value.set_type(float_memory(owner, value.type))


def _memory_values(function: ir.Operation) -> Iterator[tuple[ir.Value, ir.Operation]]:
    for op in (function, *operations(function)):
        inner = [a for region in op.regions for block in region.blocks for a in block.arguments]
        for value in (*op.results, *inner):
            if is_memory(value.type):
                yield value, op


def _retype_function(function: ir.Operation) -> None:
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    if not any(map(is_memory, [*type_.inputs, *type_.results])):
        return
    if not len(function.regions[0].blocks):
        refuse(function, "a function without a body that takes or gives complex numbers")
    inputs, results = (
        [float_memory(function, t) for t in types] for types in (type_.inputs, type_.results)
    )
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    if not is_private(function):
        _mark_arguments(function, type_.inputs)


def _mark_arguments(function: ir.Operation, inputs: Sequence[ir.Type]) -> None:
    empty = ir.ArrayAttr.get([ir.DictAttr.get({})] * len(inputs))
    entries = ir.ArrayAttr(function.attributes.get("arg_attrs") or empty)
    marked = [
        {named.name: named.attr for named in ir.DictAttr(entry)}
        | ({ARGUMENT: ir.UnitAttr.get()} if is_memory(type_) else {})
        for entry, type_ in zip(entries, inputs, strict=True)
    ]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(m) for m in marked])


def _extend(op: ir.Operation) -> None:
    if op.name not in _EXTENSIONS:
        refuse(
            op, f"'{op.name}' of memory of complex numbers, which scalarize-complex does not know"
        )
    _EXTENSIONS[op.name](op)


def _nothing(op: ir.Operation) -> None:
    """Leave the attributes of an op."""


def _append(op: ir.Operation, name: str, number: int) -> None:
    numbers = [*ir.DenseI64ArrayAttr(op.attributes[name]), number]
    op.attributes[name] = ir.DenseI64ArrayAttr.get(numbers)


def _subview(op: ir.Operation) -> None:
    for name, number in (("static_offsets", 0), ("static_sizes", 2), ("static_strides", 1)):
        _append(op, name, number)


def _reinterpret_cast(op: ir.Operation) -> None:
    for name in ("static_offsets", "static_strides"):
        numbers = list(ir.DenseI64ArrayAttr(op.attributes[name]))
        if ir.ShapedType.get_dynamic_size() in numbers:
            refuse(op, f"'{op.name}' of memory of complex numbers, expected strides in numbers")
        op.attributes[name] = ir.DenseI64ArrayAttr.get([2 * number for number in numbers])
    _append(op, "static_sizes", 2)
    _append(op, "static_strides", 1)


def _collapse_shape(op: ir.Operation) -> None:
    groups = list(ir.ArrayAttr(op.attributes["reassociation"]))
    axis = max(ir.MemRefType(v.type).rank for v in (op.operands[0], op.results[0]))
    last = ir.ArrayAttr.get([ir.IntegerAttr.get(b.integer_type(64), axis)])
    op.attributes["reassociation"] = ir.ArrayAttr.get([*groups, last])


def _expand_shape(op: ir.Operation) -> None:
    _collapse_shape(op)
    _append(op, "static_output_shape", 2)


_EXTENSIONS: Mapping[str, Callable[[ir.Operation], None]] = {
    **dict.fromkeys((*HOLDERS, *ENDS, Func.CALL, Func.RETURN, Arith.SELECT), _nothing),
    **dict.fromkeys((Memref.ALLOC, Memref.ALLOCA, Memref.DEALLOC, Memref.COPY), _nothing),
    **dict.fromkeys((Memref.DIM, Memref.CAST, Memref.LOAD, Memref.STORE), _nothing),
    Memref.SUBVIEW: _subview,
    Memref.REINTERPRET_CAST: _reinterpret_cast,
    Memref.COLLAPSE_SHAPE: _collapse_shape,
    Memref.EXPAND_SHAPE: _expand_shape,
}


def load(op: ir.Operation, split: SplitValues) -> Scalars:
    """Read both floats of a number."""
    memory, *indices = op.operands
    return [b.read(memory, [*indices, b.index(component)]) for component in range(2)]


def store(op: ir.Operation, split: SplitValues) -> Scalars:
    """Write both floats of a number."""
    value, memory, *indices = op.operands
    for component, scalar in enumerate(split.of(value)):
        b.write(scalar, memory, [*indices, b.index(component)])
    return []
