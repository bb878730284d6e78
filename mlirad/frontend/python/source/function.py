"""`@ti.func`: a function that kernels inline, and the derivatives that it may bring along."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_origin

from mlirad.errors import TaichiRuntimeError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.source.function_source import FunctionSource, read_source
from mlirad.frontend.python.values.annotations import (
    MatrixType,
    evaluate_annotations,
    is_template,
    unwrapped,
)
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.types import DataType

_PUBLIC = ("def_jvp", "def_vjp")
_OTHER_NAMES = ("backward", "forward", "grad", "gradient", "hvp", "value_and_grad")
_DERIVATIVE = (
    "ti.ad.grad(f) and ti.ad.value_and_grad(f) are its derivatives, as functions; a kernel that "
    "calls it is differentiated in `with ti.ad.Tape(loss):`"
)


class Function:
    """A `@ti.func`: inlined where it is called from a kernel; in Python scope the function
    itself.

    A `@ti.real_func` (`is_real`) declares the types of its parameters and of its result, runs its
    loops in order, and may call itself.
    """

    # how calls are run outside of compiled kernels, if not as Python has them (`ti.python`)
    run: ClassVar[Callable[..., Any] | None] = None

    def __init__(
        self, function: Callable[..., Any], owner: object = None, *, is_real: bool = False
    ) -> None:
        self.function = function
        self.owner = owner
        self.is_real = is_real
        self.requires_top_level = False  # of a kernel, so that its outermost loops run in parallel
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        # for help, which shows its parameters
        self.__wrapped__ = function if owner is None else MethodType(function, owner)
        self._source: FunctionSource | None = None
        self.vjp: Function | None = None
        self.jvp: Function | None = None
        self.is_constant = False  # whether no derivative passes through it

    @property
    def source(self) -> FunctionSource:
        """The syntax tree, read once."""
        if self._source is None:
            self._source = read_source(self.function)
        return self._source

    @property
    def is_in_class(self) -> bool:
        """Return whether the body of a class defines it."""
        scopes = self.function.__qualname__.split(".")[:-1]
        return bool(scopes) and scopes[-1] != "<locals>"

    @property
    def takes_struct_by_reference(self) -> bool:
        """Return whether a method of a struct may change it: it stands in a class, or its first
        parameter is declared as `ti.template()`."""
        first = self.source.node.args.args[:1]
        return self.is_in_class or any(is_template(self.annotation(a.arg)) for a in first)

    def __get__(self, owner: object, kind: type | None = None) -> Function:
        if owner is None:
            return self
        bound = Function(self.function, owner, is_real=self.is_real)
        bound.requires_top_level = self.requires_top_level
        bound._source, bound.vjp, bound.jvp = self.source, self.vjp, self.jvp
        bound.is_constant = self.is_constant
        return bound

    def without_derivative(self) -> Function:
        """Return the function as one through which no derivative passes."""
        constant = Function(self.function, self.owner, is_real=self.is_real)
        constant.requires_top_level = self.requires_top_level
        constant.is_constant = True
        return constant

    def def_vjp(self, rule: object) -> Function:
        """Decorate the function's derivative for reverse mode, in place of the one that would be
        derived from its body.

        `rule(*arguments, result, adjoint)` returns an adjoint of the shape of each argument that is
        a float, a vector or a matrix of floats (None for zeros); `result` is what the function
        returned, and `adjoint` has its structure. The function then only computes with its
        arguments. Raises TaichiRuntimeError if it has such a rule already, TaichiTypeError for a
        kernel.
        """
        self.vjp = self._rule(self.vjp, rule, "def_vjp")
        return self.vjp

    def def_jvp(self, rule: object) -> Function:
        """Decorate the function's derivative for forward mode, in place of one that calls the rule
        of `def_vjp`.

        `rule(*arguments, result, *tangents)`, with a tangent for each argument of floats, returns
        the tangent of the result, in its structure (None for zeros). Raises like `def_vjp`.
        """
        self.jvp = self._rule(self.jvp, rule, "def_jvp")
        return self.jvp

    def _rule(self, existing: Function | None, rule: object, name: str) -> Function:
        if self.owner is not None:
            raise TaichiRuntimeError(
                f"'{self.__name__}' belongs to an object: call {name} on the function in its class"
            )
        if existing is not None:
            raise TaichiRuntimeError(
                f"'{self.__name__}' already has a {name}: '{existing.__name__}'"
            )
        if isinstance(rule, Function):
            return rule
        if not inspect.isfunction(rule):
            raise TaichiTypeError(
                f"{name}: expected a @ti.func or a Python function, got {type(rule).__name__}"
            )
        evaluate_annotations(rule, sys._getframe(2))
        return Function(rule)

    def annotation(self, name: str) -> Any:
        """The declared type of a parameter, or of "return"; None if there is none."""
        declared = self.function.__annotations__.get(name)
        if isinstance(declared, str):
            raise TaichiSyntaxError(
                f"Invalid type annotation (argument {name}) of '{self.__name__}': {declared}"
            )
        return unwrapped(declared)

    def check_declared(self) -> None:
        """Raise TaichiSyntaxError if a parameter has no type."""
        for position, name in enumerate(inspect.signature(self.function).parameters):
            is_self = position == 0 and name == "self"
            if not is_self and name not in self.function.__annotations__:
                raise TaichiSyntaxError(
                    f"Taichi real functions parameters must be type annotated: parameter '{name}' "
                    f"of '{self.__name__}'"
                )

    def result_type(self) -> Any:
        """The type that results are converted to, or None: of several that are possible too."""
        declared = self.annotation("return")
        kind = get_args(declared) if get_origin(declared) is tuple else declared
        kind = tuple(kind) if isinstance(kind, list) else kind
        is_type = isinstance(kind, tuple | MatrixType | StructType | DataType) or kind in (
            int,
            float,
            bool,
        )
        return kind if is_type else None

    def __repr__(self) -> str:
        return f"<ti.func '{self.__name__}'>"

    def __dir__(self) -> list[str]:
        names = super().__dir__()
        return [name for name in names if name in _PUBLIC or name.startswith("__")]

    if not TYPE_CHECKING:  # which would take every attribute to be there

        def __getattr__(self, name):
            hint = f": {_DERIVATIVE}" if name in _OTHER_NAMES else ""
            raise AttributeError(f"a @ti.func has no attribute '{name}'{hint}", name=name)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        arguments = args if self.owner is None else (self.owner, *args)
        if Function.run is not None:
            return Function.run(self, arguments, kwargs)
        return self.function(*arguments, **kwargs)
