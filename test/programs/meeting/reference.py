"""The names that programs import, in plain Python on objects: `run(source)` is the reference that
results are compared with. It shares nothing with mlirad."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from programs.meeting import dual
from programs.meeting.dual import Number, primal, whole
from programs.meeting.reference_memory import Block, Field, Memory, Structs, index_of, objects
from programs.meeting.reference_values import Element, Struct, Tensor, copied, tensor

FLOAT, INTEGER = float, int


class _Template:
    """The annotation of an argument that is the thing itself."""


class _Pair:
    """The type of a vector of two."""


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, tuple) else (shape,)


class Reference:
    """One program's names: a root, and functions on it."""

    def __init__(self) -> None:
        self.root, self.is_serial, self.trips = Block(), False, 0
        self.f64, self.i32, self.template = FLOAT, INTEGER, _Template
        self.i, self.j, self.ij = (0,), (1,), (0, 1)
        self.math = SimpleNamespace(vec2=_Pair)
        self.types = SimpleNamespace(ndarray=lambda **_: _Template())
        self.Vector, self.Matrix = _Tensors(self), _Tensors(self)
        self.ad = SimpleNamespace(checkpointed=lambda steps, **_: steps)
        self.sin, self.cos, self.exp, self.tanh = dual.sin, dual.cos, dual.exp, dual.tanh
        self.sqrt, self.atan2 = dual.sqrt, dual.atan2
        self.static, self.stop_grad = _same, _stopped

    def field(self, dtype: Any, shape: Any = None, needs_grad: bool = False) -> Field:
        return self.elements((), dtype, shape, needs_grad)

    def elements(self, element: tuple[int, ...], dtype: Any, shape: Any, graded: bool) -> Field:
        """A field of scalars, vectors or matrices."""
        made = Field(dtype, element, graded and dtype is FLOAT)
        if shape is not None:
            extents = _shape(shape)
            axes = tuple(range(len(extents)))
            (self.root.dense(axes, extents) if axes else self.root).place(made)
        return made

    def ndarray(self, dtype: Any, shape: Any, needs_grad: bool = False) -> Memory:
        made = Memory(dtype, (), needs_grad)
        made.lay_out(_shape(shape))
        return made

    def dataclass(self, declared: type) -> type:
        """The class of a struct with fields of it."""
        reference = self

        class Declared(declared, Struct):  # type: ignore[misc, valid-type]
            _names = tuple(inspect.get_annotations(declared))

            @classmethod
            def field(cls, shape: Any = None, needs_grad: bool = False) -> Structs:
                shapes = {
                    name: reference.elements(*dtype, shape, needs_grad)
                    for name, kind in inspect.get_annotations(declared).items()
                    for dtype in [((2,), FLOAT) if kind is _Pair else ((), kind)]
                }
                return Structs(cls, shapes)

        return Declared

    def func(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose arguments are copies, templates excepted."""
        names = list(inspect.signature(function).parameters)
        kept = {k for k, name in enumerate(names) if name == "self" or _is_template(function, name)}

        @functools.wraps(function)
        def called(*arguments: Any) -> Any:
            given = (a if k in kept else copied(a) for k, a in enumerate(arguments))
            return copied(function(*given))

        return called

    def kernel(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel; what it returns has no derivative."""

        @functools.wraps(function)
        def launched(*arguments: Any) -> Any:
            self.is_serial = False
            result = function(*map(_memory, arguments))
            return result if result is None or isinstance(result, int) else primal(result)

        return launched

    def loop_config(self, serialize: bool = False) -> None:
        self.is_serial = serialize

    def started(self, elements: Iterable[Any]) -> Iterable[Any]:
        """What an outermost loop goes over: what is active as it starts, if it is parallel."""
        serial, self.is_serial = self.is_serial, False
        return elements if serial else list(elements)

    def again(self) -> bool:
        """A `while` goes on; raises OverflowError if it seems not to end."""
        self.trips += 1
        if self.trips > 10_000:
            raise OverflowError("an endless loop")
        return True

    def grouped(self, elements: Iterable[Any]) -> Iterable[Tensor]:
        return (tensor(index_of(index)) for index in elements)

    def ndrange(self, *extents: Any) -> Iterable[Any]:
        return itertools.product(*(range(*_shape(extent)) for extent in extents))

    def cast(self, value: Any, dtype: Any) -> Any:
        return float(value) if dtype is FLOAT and isinstance(value, int) else value

    def floor(self, value: Number) -> float:
        return float(whole(value))

    def select(self, condition: bool, a: Any, b: Any) -> Any:
        return copied(a if condition else b)

    def abs(self, value: Any) -> Any:
        return abs(value)

    def max(self, a: Any, b: Any) -> Any:
        return a if a > b else b

    def min(self, a: Any, b: Any) -> Any:
        return a if a < b else b

    def atomic_add(self, memory: Any, index: Any, value: Any) -> Any:
        old = copied(memory[index])
        memory[index] = old + value
        return old

    def atomic_sub(self, memory: Any, index: Any, value: Any) -> Any:
        return self.atomic_add(memory, index, -value)

    def activate(self, block: Block, index: Any) -> None:
        block.activate(index_of(index))

    def deactivate(self, block: Block, index: Any) -> None:
        block.deactivate(index_of(index))

    def is_active(self, block: Block, index: Any) -> bool:
        cell = index_of(index)
        for level in block.path():
            own = sorted(level.cells)
            shared = tuple(cell[a] * level.cells[a] // block.cells[a] for a in own)
            if level.kind not in ("root", "dense") and level.activity[shared] != 1:
                return False
        return True

    def length(self, block: Block, index: Any) -> int:
        return int(block.activity[index_of(index)])

    def append(self, block: Block, index: Any, value: Any) -> int:
        """Add to a list what its one field holds, or what the members of its struct hold."""
        cell = index_of(index)
        place = (*cell, int(block.activity[cell]))
        if isinstance(value, Struct | Element):
            block.structs[0][place] = value
        else:
            block.fields[0][place] = value
        return place[-1]

    def deactivate_all_snodes(self) -> None:
        self.root.deactivate_all()


def _same(value: Any) -> Any:
    return value


def _memory(argument: Any) -> Any:
    """An argument of a kernel; NumPy's arrays take indices that are vectors."""
    if not isinstance(argument, np.ndarray):
        return argument
    memory = Memory(FLOAT)
    memory.shape, memory.data = argument.shape, argument
    return memory


def _stopped(value: Any) -> Any:
    return primal(value)


def _is_template(function: Callable[..., Any], name: str) -> bool:
    kind = inspect.get_annotations(function).get(name)
    return kind is _Template or isinstance(kind, _Template)


class _Tensors:
    """`ti.Vector` and `ti.Matrix`."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference

    def __call__(self, values: Any) -> Tensor:
        return tensor(values)

    def field(self, *dimensions_and_type: Any, **options: Any) -> Field:
        *element, dtype = dimensions_and_type
        shape, graded = options.get("shape"), options.get("needs_grad", False)
        return self.reference.elements(tuple(element), dtype, shape, graded)

    def ndarray(self, count: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Memory:
        made = Memory(dtype, (count,), needs_grad)
        made.lay_out(_shape(shape))
        return made


class _Rewriter(ast.NodeTransformer):
    """Makes assignments copies, loops end, atomic updates those of memory and index, and outermost
    loops of kernels start with what is active then."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        if isinstance(node.targets[0], ast.Name | ast.Tuple):
            node.value = _call("copied", node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("atomic_"):
            element = node.args[0]
            if isinstance(element, ast.Subscript):
                node.args[:1] = [element.value, element.slice]
            elif isinstance(element, ast.Attribute) and isinstance(element.value, ast.Subscript):
                structs, index = element.value.value, element.value.slice
                node.args[:1] = [ast.Attribute(structs, element.attr, ast.Load()), index]
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        again = ast.parse("ti.again()", mode="eval").body
        node.test = ast.BoolOp(ast.And(), [again, node.test])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if any(ast.unparse(one) == "ti.kernel" for one in node.decorator_list):
            for statement in node.body:
                if isinstance(statement, ast.For):
                    statement.iter = _call("ti.started", statement.iter)
        return node


def _call(name: str, argument: ast.expr) -> ast.Call:
    function = ast.parse(name, mode="eval").body
    return ast.Call(function, [argument], [])


def run(source: str) -> dict[str, Any]:
    """The names of a program, as the reference has them."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    tree = ast.fix_missing_locations(_Rewriter().visit(tree))
    names: dict[str, Any] = {
        "ti": Reference(),
        "copied": copied,
        "np": SimpleNamespace(
            zeros=lambda shape: objects(_shape(shape), 0.0),
            ndindex=np.ndindex,
            random=np.random,
        ),
    }
    exec(compile(tree, "<program>", "exec", dont_inherit=True), names)
    return names
