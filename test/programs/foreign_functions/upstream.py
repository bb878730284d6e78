"""Functions run by upstream's passes and engine alone: what they give, without ours."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.bindings import ExecutionEngine, PassManager, ir
from mlirad.dialect import context
from mlirad.ir.walk import block_operations
from mlirad.passes.functions.lower_packed_tensors import lower_packed_tensors
from mlirad.passes.functions.lower_softmax import lower_softmax
from mlirad.passes.functions.lower_tensor_gathers import lower_tensor_gathers
from mlirad.passes.functions.mark_read_only_tensors import mark_read_only_tensors

PIPELINE = (
    "builtin.module(convert-elementwise-to-linalg,"
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map "
    "allow-return-allocs-from-loops=true},lower-affine,convert-linalg-to-loops,"
    "func.func(affine-expand-index-ops),scf-forall-to-parallel,lower-affine,convert-scf-to-cf,"
    "expand-strided-metadata,memref-expand,lower-affine,"
    "convert-complex-to-standard,func.func(math-expand-ops{ops=fpowi}),convert-math-to-llvm,convert-math-to-libm,"
    "convert-complex-to-llvm,arith-expand,convert-vector-to-scf,convert-vector-to-llvm,"
    "convert-scf-to-cf,convert-ub-to-llvm,convert-index-to-llvm,finalize-memref-to-llvm,"
    "convert-arith-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts)"
)
_NUMBERS = {"f64": ctypes.c_double, "f32": ctypes.c_float, "i64": ctypes.c_int64}
_NUMBERS |= {"index": ctypes.c_int64, "i32": ctypes.c_int32, "i1": ctypes.c_bool}
_ELEMENTS = {"f64": np.float64, "f32": np.float32}
Values = np.ndarray


def outputs(text: str, arguments: Sequence[Values | int]) -> list[Values]:
    """Return the results of `f`, and what it leaves in its arguments of floats, as derivatives'
    `Program` orders them."""
    with context():
        module = ir.Module.parse(text)
        (function,) = [
            op for op in block_operations(module.body) if str(op.attributes["sym_name"]) == '"f"'
        ]
        type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        kinds = [list(map(_kind, types)) for types in (type_.inputs, type_.results)]
        for lower in (lower_packed_tensors, lower_tensor_gathers, lower_softmax):
            lower(module.operation)
        mark_read_only_tensors(module.operation)
        PassManager.parse(PIPELINE).run(module.operation)
        engine = ExecutionEngine(module, opt_level=0)
        engine.raw_register_runtime("memrefCopy", ctypes.cast(_COPY, ctypes.c_void_p))
    return _call(engine, arguments, *kinds)


class _Unranked(ctypes.Structure):
    """How C passes a memref of any rank."""

    _fields_ = [("rank", ctypes.c_int64), ("descriptor", ctypes.c_void_p)]


@ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(_Unranked), ctypes.POINTER(_Unranked))
def _COPY(size: int, source: Any, target: Any) -> None:
    """Copy elements of a size: the function that the engine's own library has."""
    _bytes(target[0], size)[...] = _bytes(source[0], size)


def _bytes(memref: _Unranked, size: int) -> Values:
    """Return the elements of a memref, as numbers of their size."""
    held = _Kind("f64", memref.rank).storage.from_address(memref.descriptor)
    return _view(held, memref.rank, np.dtype(f"u{size}"))


class _Kind:
    """The type of a parameter or of a result: an element, and a rank unless it is a number."""

    def __init__(self, element: str, rank: int | None) -> None:
        self.element, self.rank = element, rank

    @property
    def storage(self) -> type:
        """How C passes it."""
        if self.rank is None:
            return _NUMBERS[self.element]
        numbers = ctypes.c_int64 * self.rank
        fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p)]
        fields += [("offset", ctypes.c_int64)]
        fields += [("sizes", numbers), ("strides", numbers)] if self.rank else []
        return type("Descriptor", (ctypes.Structure,), {"_fields_": fields})


def _kind(type_: ir.Type) -> _Kind:
    if isinstance(type_, ir.MemRefType | ir.RankedTensorType):
        return _Kind(str(type_.element_type), type_.rank)
    return _Kind(str(type_), None)


def _call(
    engine: ExecutionEngine,
    arguments: Sequence[Values | int],
    kinds: Sequence[_Kind],
    results: Sequence[_Kind],
) -> list[Values]:
    arrays = [np.array(a, order="C") for a in arguments]
    passed = [_passed(kind, array) for kind, array in zip(kinds, arrays)]
    pointers = [
        ctypes.pointer(ctypes.pointer(value)) if kind.rank is not None else ctypes.pointer(value)
        for kind, value in zip(kinds, passed)
    ]
    fields = [(f"result{k}", kind.storage) for k, kind in enumerate(results)]
    holder = type("Results", (ctypes.Structure,), {"_fields_": fields})()
    single = len(results) == 1 and results[0].rank is None
    place = results[0].storage() if single else holder
    if single:  # an invoked function stores it behind its last argument
        pointers.append(ctypes.pointer(place))
    elif results:
        pointers.insert(0, ctypes.pointer(ctypes.pointer(holder)))
    engine.invoke("f", *pointers)
    held = [place] if single else [getattr(holder, name) for name, _ in fields]
    values = [_value(kind, value) for kind, value in zip(results, held)]
    left = [array for kind, array in zip(kinds, arrays) if kind.element in ("f64", "f32")]
    floats = [v for kind, v in zip(results, values) if kind.element in ("f64", "f32")]
    return [np.array(value, np.float64) for value in (*floats, *left)]


def _passed(kind: _Kind, array: Values) -> ctypes.Structure:
    if kind.rank is None:
        return kind.storage(array[()])
    descriptor = kind.storage()
    descriptor.allocated = descriptor.aligned = array.ctypes.data
    descriptor.offset = 0
    for axis in range(kind.rank):
        descriptor.sizes[axis] = array.shape[axis]
        descriptor.strides[axis] = array.strides[axis] // array.itemsize
    return descriptor


def _value(kind: _Kind, held: ctypes.Structure) -> Values:
    """Return a result; its memory, which the function allocated, is copied."""
    if kind.rank is None:
        return np.array(getattr(held, "value", held))
    return _view(held, kind.rank, np.dtype(_ELEMENTS[kind.element])).copy()


def _view(held: Any, rank: int, item: np.dtype) -> Values:
    """Return the elements that a descriptor is of."""
    sizes = tuple(held.sizes) if rank else ()
    strides = tuple(held.strides) if rank else ()
    if 0 in sizes:
        return np.zeros(sizes, item)
    extent = 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
    memory = (ctypes.c_char * (extent * item.itemsize)).from_address(
        held.aligned + held.offset * item.itemsize
    )
    steps = [stride * item.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(
        np.frombuffer(memory, item), sizes, steps, writeable=True
    )
