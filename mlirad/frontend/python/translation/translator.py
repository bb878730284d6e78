"""Python's syntax tree to IR: the dispatcher, which alone makes locations, and the
methods that the node handlers share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import Builder
from mlirad.frontend.python.places.place import Place, VariablePlace
from mlirad.frontend.python.places.variables import Variable
from mlirad.frontend.python.translation.python_objects import NewObjects
from mlirad.frontend.python.translation.scopes import Frame
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct, map_members
from mlirad.types import DataType, TypeLike, resolve

_PYTHON_FAULTS = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)

Handler = Callable[["Translator", Any], Any]
_HANDLERS: dict[type[ast.AST], Handler] = {}


def handles(*nodes: type[ast.AST]) -> Callable[[Handler], Handler]:
    """Register the function that translates some kinds of nodes."""

    def register(function: Handler) -> Handler:
        for node in nodes:
            _HANDLERS[node] = function
        return function

    return register


def _is_raised_here(error: BaseException) -> bool:
    """Return whether the code that raised an error is ours, so that its lines say nothing."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.startswith(("mlirad.", "torch_mlir."))


class Static:
    """A value known while translating, marked by `ti.static(...)`: a loop over it is unrolled."""

    def __init__(self, value: object) -> None:
        self.value: Any = value


class Translator:
    """Translates one kernel, inlining the functions it calls."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.frames: list[Frame] = []
        self.depth = 0  # run-time regions around the insertion point
        self.in_parallel = False
        self.unused: ast.AST | None = None  # the expression that is the statement
        # `if` statements around, other than ti.static, on conditions known while translating
        self.conditions = 0
        self.loop_options: dict[str, Any] = {}
        self.runs_in_order = False  # every loop
        self.new_objects = NewObjects()

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def resolve(self, dtype: TypeLike) -> DataType:
        """A scalar type under this kernel's defaults."""
        return resolve(dtype, self.builder.default_fp, self.builder.default_ip)

    def place_of(self, node: ast.AST) -> SourceLocation:
        """The place of a node in the user's file."""
        return self.frame.source.place_of(node)

    def visit(self, node: ast.AST) -> Any:
        """Translate a node, with its location in scope for every op it creates."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            from mlirad.frontend.python.translation.missing_statements import missing_statement

            raise TaichiSyntaxError(missing_statement(node), self.place_of(node))
        if not hasattr(node, "lineno"):
            return handler(self, node)
        place = self.place_of(node)
        try:
            with ir.Location.file(place.file, place.line, place.column):
                return handler(self, node)
        except TaichiCompilationError as error:
            if error.source is not None:
                raise
            raise error.at(place) from error.__cause__
        except _PYTHON_FAULTS as error:
            kind = TaichiTypeError if isinstance(error, TypeError) else TaichiCompilationError
            cause = None if _is_raised_here(error) else error
            raise kind(f"{type(error).__name__}: {error}", place) from cause

    def visit_value(self, node: ast.AST) -> Any:
        """Translate an expression to a value; variables and places are read."""
        return self.read(self.visit(node))

    def read(self, result: object) -> Any:
        """The value of the result of a node."""
        if isinstance(result, Place | Variable):
            return result.load()
        if isinstance(result, Expr):
            result.check_visible()
        return result.value if isinstance(result, Static) else result

    def visit_values(self, nodes: Iterable[ast.expr]) -> list[Any]:
        """Translate expressions to values; a starred one to each of its own."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += list(self.visit_value(node.value))
            else:
                values.append(self.visit_value(node))
        return values

    @contextmanager
    def at_run_time(self) -> Iterator[None]:
        """Translate inside of one more run-time region, where loops are serial."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def visit_base(self, node: ast.AST) -> Any:
        """Translate the base of a subscript or an attribute: places stay places."""
        result = self.visit(node)
        if isinstance(result, Variable):
            return VariablePlace(result)
        return result.value if isinstance(result, Static) else result

    def visit_place(self, node: ast.AST) -> Place | None:
        """Translate an expression to a place, or None if it is not one. Subexpressions are
        evaluated once."""
        result = self.visit(node)
        if isinstance(result, Variable):
            return VariablePlace(result)
        return result if isinstance(result, Place) else None


def copy_value(value: object) -> Any:
    """Copy a matrix or a struct, so that later assignments cannot change the value."""
    if isinstance(value, Struct):
        return map_members(value, copy_value)
    if isinstance(value, Matrix):
        return value.like(
            [entry if isinstance(entry, Expr) else ex.expression(entry) for entry in value.entries]
        )
    return value
