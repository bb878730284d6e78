"""A module of functions compiled by upstream alone, and behind passes of ours; each function run on
the same numbers.

Behind the passes a function takes memory for vectors (`mlirad.passes.functions.scalarize_vectors`);
upstream's gets a function around it that does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from torch_mlir.runtime import get_ranked_memref_descriptor

from mlirad.bindings import ExecutionEngine, ir
from mlirad.dialect import context
from mlirad.pipeline.runner import run_pipeline

Array = np.ndarray[Any, Any]
LOWER = (
    "canonicalize,convert-vector-to-scf,lower-affine,convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,convert-complex-to-standard,convert-vector-to-llvm,"
    "convert-ub-to-llvm,finalize-memref-to-llvm,convert-complex-to-llvm,convert-math-to-llvm,"
    "convert-math-to-libm,convert-vector-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,canonicalize,cse,reconcile-unrealized-casts"
)
# upstream's patterns that no pass of its own applies
PATTERNS = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %functions = transform.structured.match ops{["func.func"]} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = outerproduct
      transform.apply_patterns.vector.lower_scan
      transform.apply_patterns.vector.lower_masks
      transform.apply_patterns.vector.lower_masked_transfers
    } : !transform.any_op
    transform.yield
  }
}
"""
DYNAMIC = 9  # the extent of an axis that a type leaves open
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
    "index": np.int64,
    "complex<f64>": np.complex128,
    "complex<f32>": np.complex64,
}


def is_shaped(type_: ir.Type) -> bool:
    """Whether a value is a vector, or memory."""
    return isinstance(type_, ir.VectorType | ir.MemRefType)


def is_split(type_: ir.Type) -> bool:
    """Whether a value is passed in memory of its own."""
    return isinstance(type_, ir.VectorType | ir.ComplexType)


def extents(type_: Any) -> list[int]:
    """Return the shape of an array for a value."""
    return [size if size >= 0 else DYNAMIC for size in type_.shape] if is_shaped(type_) else []


class Function:
    """A function of a module, as its text has it."""

    def __init__(self, op: ir.Operation) -> None:
        self.name = ir.StringAttr(op.attributes["sym_name"]).value
        type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        self.inputs, self.results = type_.inputs, type_.results
        self.memory = [t for t in self.results if is_split(t)]
        self.scalars = [t for t in self.results if not is_split(t)]
        assert len(self.scalars) < 2, self.name

    def arguments(self, random: np.random.Generator) -> list[Array]:
        """Return an array for each argument, and for each vector and scalar that it gives."""
        inputs = [numbers(random, t) for t in self.inputs]
        return inputs + [np.zeros_like(numbers(random, t)) for t in self.memory + self.scalars]

    @property
    def wrapper(self) -> str:
        """The text of a function that takes memory for vectors."""
        inputs, results, lines = [], [], []
        for n, type_ in enumerate(self.inputs):
            if is_split(type_):
                inputs.append(f"%m{n}: {memory_type(type_)}")
                lines += read_vector(f"a{n}", f"m{n}", type_)
            else:
                inputs.append(f"%a{n}: {type_}")
        for n, type_ in enumerate(self.results):
            if is_split(type_):
                inputs.append(f"%o{n}: {memory_type(type_)}")
                results += write_vector(f"r{n}", f"o{n}", type_)
        names = ", ".join(f"%a{n}" for n in range(len(self.inputs)))
        given = ", ".join(f"%r{n}" for n in range(len(self.results)))
        types = f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.results))})"
        lines.append(f"{given} {'=' * bool(given)} func.call @{self.name}({names}) : {types}")
        back = [f"%r{n}" for n, t in enumerate(self.results) if not is_split(t)]
        ending = f" {', '.join(back)} : {', '.join(map(str, self.scalars))}" if back else ""
        body = "\n  ".join([*lines, *results, f"return{ending}"])
        scalars = ", ".join(map(str, self.scalars))
        head = f"func.func @run_{self.name}({', '.join(inputs)}) -> ({scalars})"
        return f"{head} {{\n  {body}\n}}\n"


def memory_type(type_: Any) -> str:
    """Return the type of the memory of a vector or a complex number."""
    if not is_shaped(type_):
        return f"memref<{type_}>"
    return f"memref<{''.join(f'{n}x' for n in type_.shape)}{type_.element_type}>"


def _places(type_: Any) -> Iterator[tuple[str, str]]:
    for position in product(*map(range, type_.shape)):
        yield "_".join(map(str, position)), ", ".join(f"%i{p}" for p in position)


def _indices(name: str, type_: Any) -> list[str]:
    numbers = range(max([0, *type_.shape]))
    return [f"%i{name}_{n} = arith.constant {n} : index" for n in numbers]


def read_vector(vector: str, memory: str, type_: Any) -> list[str]:
    """Return the text that reads a vector from memory, an element at a time."""
    if not is_shaped(type_):
        return [f"%{vector} = memref.load %{memory}[] : {memory_type(type_)}"]
    lines, names = _indices(vector, type_), []
    for label, place in _places(type_):
        place = place.replace("%i", f"%i{vector}_")
        names.append(f"%{vector}_{label}_")
        lines.append(f"{names[-1]} = memref.load %{memory}[{place}] : {memory_type(type_)}")
    return [*lines, f"%{vector} = vector.from_elements {', '.join(names)} : {type_}"]


def write_vector(vector: str, memory: str, type_: Any) -> list[str]:
    """Return the text that writes a vector to memory, an element at a time."""
    if not is_shaped(type_):
        return [f"memref.store %{vector}, %{memory}[] : {memory_type(type_)}"]
    lines, element = _indices(vector, type_), type_.element_type
    for label, place in _places(type_):
        at = label.replace("_", ", ")
        place = place.replace("%i", f"%i{vector}_")
        name = f"%{vector}_{label}_"
        lines.append(f"{name} = vector.extract %{vector}[{at}] : {element} from {type_}")
        lines.append(f"memref.store {name}, %{memory}[{place}] : {memory_type(type_)}")
    return lines


def numbers(random: np.random.Generator, type_: Any) -> Array:
    """Return numbers for a value of a type: floats whose sums and products are exact, integers from
    a few, indices that are small."""
    shape = extents(type_)
    element = str(type_.element_type if is_shaped(type_) else type_)
    dtype = DTYPES[element]
    if element == "index":
        return random.integers(0, 3, shape).astype(dtype)
    if element.startswith("i"):
        return random.integers(-7, 8, shape).astype(dtype)
    reals = random.integers(-16, 17, shape) / 8
    if element.startswith("complex"):
        reals = reals + 1j * random.integers(-16, 17, shape) / 8
    return np.asarray(reals).astype(dtype)


def floats(array: Array) -> Array:
    """Return an array of complex numbers as one of floats, with one more axis."""
    if array.dtype.kind != "c":
        return array
    return array.reshape(*array.shape, 1).view(array.real.dtype)


def pointer(array: Array, is_memory: bool) -> ctypes.Array[Any]:
    """Return a pointer to an array as compiled code takes it."""
    if not is_memory:
        return array.ctypes.data_as(ctypes.c_void_p), array
    descriptor = ctypes.pointer(get_ranked_memref_descriptor(array))
    holder = ctypes.pointer(descriptor)
    return ctypes.cast(holder, ctypes.c_void_p), holder


class Compiled:
    """A module compiled by a pipeline; its functions are run by name."""

    def __init__(self, module: ir.Module, *pipelines: str) -> None:
        for op in module.body.operations:
            if op.name == "func.func" and "sym_visibility" not in op.attributes:
                op.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        for pipeline in pipelines:
            run_pipeline(module.operation, f"builtin.module({pipeline})")
            assert module.operation.verify()
        self.has_passes = len(pipelines) > 1
        self.engine = ExecutionEngine(module, opt_level=1)

    def run(self, name: str, function: Function, arrays: Sequence[Array]) -> None:
        """Run a function on arrays, which it changes."""
        kinds = [is_shaped(t) or is_split(t) for t in function.inputs]
        kinds += [True] * len(function.memory)
        kinds += [False] * len(function.scalars)
        if self.has_passes:  # of ours: a complex number is two floats
            arrays = [floats(a) for a in arrays]
        pointers = [pointer(a, is_memory) for a, is_memory in zip(arrays, kinds, strict=True)]
        packed = (ctypes.c_void_p * len(pointers))(*[address for address, _ in pointers])
        self.engine.lookup(name)(packed)


def lower_by_upstream(module: ir.Module) -> None:
    """Lower ops of vectors of more axes and under masks to simpler ones."""
    run_pipeline(
        module.operation,
        "builtin.module(func.func(lower-vector-mask,lower-vector-multi-reduction))",
    )
    sequence = ir.Module.parse(PATTERNS)
    module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    module.body.append(sequence.body.operations[0].operation.clone())
    run_pipeline(module.operation, "builtin.module(transform-interpreter)")
    del module.operation.attributes["transform.with_named_sequence"]
    next(op for op in module.body.operations if op.name == "transform.named_sequence").erase()


def differences(
    text: str,
    passes: str,
    *,
    reworded: str = "",
    runs: int = 3,
    seed: int = 0,
    equal: Callable[[Array, Array], bool] | None = None,
) -> list[str]:
    """Return the functions of a module that give other numbers behind passes of ours than without,
    or change other memory; upstream may get the same functions in other words."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        functions = [
            Function(op.operation)
            for op in module.body.operations
            if op.name == "func.func" and "sym_visibility" not in op.attributes
        ]
        wrapped = (reworded or text) + "".join(function.wrapper for function in functions)
        theirs = ir.Module.parse(wrapped)
        lower_by_upstream(theirs)
        upstream, ours = Compiled(theirs, LOWER), Compiled(module, passes, LOWER)
        return [
            difference
            for function in functions
            for run in range(runs)
            for difference in _difference(function, upstream, ours, seed + run, equal or same)
        ]


def same(a: Array, c: Array) -> bool:
    """Whether two arrays have the same numbers, bit for bit, or are not numbers at the same
    places."""
    return np.array_equal(a, c, equal_nan=a.dtype.kind in "fc")


def _difference(
    function: Function, upstream: Compiled, ours: Compiled, seed: int, equal: Callable[..., bool]
) -> Iterator[str]:
    arrays = [function.arguments(np.random.default_rng(seed)) for _ in range(2)]
    upstream.run(f"run_{function.name}", function, arrays[0])
    ours.run(function.name, function, arrays[1])
    for number, (theirs, own) in enumerate(zip(*arrays)):
        if not equal(theirs, own):
            yield f"{function.name}, {number}: {theirs.tolist()} and {own.tolist()}"
