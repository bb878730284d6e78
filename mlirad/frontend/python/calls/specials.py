"""Names with a meaning of their own inside kernels: `ti.static`, the atomics, loop options and the
like. What is listed in `__all__` is public, as `ti.static`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.variables import ON_INTEGERS, Combine, Update
from mlirad.frontend.python.translation.printing import emit_print
from mlirad.frontend.python.translation.translator import Static, Translator
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.domains import GroupedDomain, NdRange
from mlirad.frontend.python.values.leaves import without_derivative
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct
from mlirad.signatures import signature_of

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "block_local",
    "cache_read_only",
    "grouped",
    "loop_config",
    "ndrange",
    "static",
    "static_assert",
    "static_print",
    "stop_grad",
]


class Special:
    """A callable that sees the syntax of its call; outside kernels it is an ordinary function."""

    update: Update | None = None  # of an atomic

    def __init__(
        self,
        name: str,
        translate: Callable[[Translator, ast.Call], Any],
        python: Callable[..., object] | None = None,
        takes: str = "",
    ) -> None:
        """`takes` are the names of its parameters, with `*` in front of one that is repeated."""
        self.__name__ = name
        self.__signature__ = signature_of(takes)
        self.__doc__ = translate.__doc__
        self.translate = translate
        self.python = python

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.python is None:
            raise TaichiSyntaxError(f"ti.{self.__name__} can only be used inside a kernel")
        return self.python(*args, **kwargs)


def special(
    python: Callable[..., object] | None = None, takes: str = ""
) -> Callable[[Callable[[Translator, ast.Call], Any]], Special]:
    """Make a Special of a translating function; `python` is called outside kernels."""

    def make(translate: Callable[[Translator, ast.Call], Any]) -> Special:
        return Special(translate.__name__.strip("_"), translate, python, takes)

    return make


def _first(*arguments: object) -> Any:
    return arguments[0] if len(arguments) == 1 else arguments


def _static_values(t: Translator, node: ast.Call) -> list[Any]:
    """The arguments of a call, evaluated while compiling."""
    t.builder.static_arguments += 1
    try:
        return [t.visit_value(argument) for argument in node.args]
    finally:
        t.builder.static_arguments -= 1


@special(python=_first, takes="*values")
def static(t: Translator, node: ast.Call) -> Any:
    """Evaluate while the kernel is compiled: a loop over the result is unrolled, and an `if` on it
    chooses its branch.

    Args:
        values: a compile-time value. Several values give a list.

    Raises:
        TaichiTypeError: a value is known only at run time.
    """
    values = _static_values(t, node)
    if any(isinstance(value, Expr) for value in values):
        raise TaichiTypeError("The arguments of ti.static must be compile-time constants")
    return Static(values[0] if len(values) == 1 else values)


@special(takes="condition, message=")
def static_assert(t: Translator, node: ast.Call) -> None:
    """Check a condition while the kernel is compiled.

    Args:
        condition: a compile-time value.
        message: the text of the error.

    Raises:
        TaichiCompilationError: the condition does not hold.
        TaichiTypeError: the condition is known only at run time.
    """
    condition = t.visit_value(node.args[0])
    if isinstance(condition, Expr):
        raise TaichiTypeError("Static assert with non-static condition")
    if not condition:
        message = t.visit_value(node.args[1]) if len(node.args) > 1 else ""
        raise TaichiCompilationError(f"Static assertion failed {message}".rstrip())


@special(python=print, takes="*values")
def static_print(t: Translator, node: ast.Call) -> None:
    """Print values while the kernel is compiled, once for each combination of argument types. For a
    value that is known only at run time, print its type."""
    values = _static_values(t, node)
    print(*(repr(value) if isinstance(value, Expr) else value for value in values))


@special(takes="serialize=, parallelize=, block_dim=, block_dim_adaptive=, bit_vectorize=, name=")
def loop_config(t: Translator, node: ast.Call) -> None:
    """Set options of the next loop in a kernel.

    Args:
        serialize: True runs the iterations in order.
        parallelize: the maximum number of threads that share the loop.
        block_dim: the number of threads per block on a GPU.
        block_dim_adaptive: has no effect.
        bit_vectorize: has no effect.
        name: the name of an outermost loop in `kernel.ir()` and in profiles.

    Raises:
        TaichiSyntaxError: an option is unknown, or the call is not in a kernel.
    """
    options = {
        *("serialize", "parallelize", "block_dim", "block_dim_adaptive", "bit_vectorize", "name"),
    }
    for keyword in node.keywords:
        if keyword.arg not in options:
            raise TaichiSyntaxError(
                f"unknown loop option '{keyword.arg}', expected one of {sorted(options)}"
            )
        t.loop_options[keyword.arg] = t.visit_value(keyword.value)


def _hint(name: str, effect: str) -> Special:
    def translate(t: Translator, node: ast.Call) -> None:
        for argument in node.args:
            value = t.visit(argument)
            if array_ref(value) is None:
                raise TaichiSyntaxError(f"ti.{name} takes fields")

    translate.__doc__ = (
        f"Ask the compiler to keep fields {effect} during the next loop. This is a hint for GPUs; "
        "it has no effect on the CPU. Raises TaichiSyntaxError if an argument is not a field."
    )
    return Special(name, translate, takes="*fields")


block_local = _hint("block_local", "in memory shared by a block of threads")
cache_read_only = _hint("cache_read_only", "in the read-only cache")


def _atomic(kind: Update, python_operator: Combine) -> Special:
    def translate(t: Translator, node: ast.Call) -> Any:
        if len(node.args) != 2:
            raise TaichiSyntaxError(f"atomic_{kind} takes a place and a value")
        place = t.visit_place(node.args[0])
        value = t.visit_value(node.args[1])
        if place is None:
            raise TaichiSyntaxError(
                f"cannot use a non-writable target as the first operand of 'atomic_{kind}': it "
                "must be a variable or an element of a field"
            )
        return place.update(
            python_operator, kind, Matrix(value) if isinstance(value, list | tuple) else value
        )

    of = " of integer type" if kind in ON_INTEGERS else ""
    raised = "    TaichiTypeError: `place` has a float type.\n" if of else ""
    translate.__doc__ = (
        f"Update a variable or an element atomically by `{kind}`, in a kernel.\n\nArgs:\n"
        f"    place: a variable, or an element of a field or an array{of}. It may be a vector or a "
        "matrix.\n"
        "    value: the other operand, which is converted to the type of `place`.\n\n"
        "Returns:\n    The value before the update.\n\n"
        f"Raises:\n{raised}    TaichiSyntaxError: `place` is neither a variable nor an element."
    )
    atomic = Special(f"atomic_{kind}", translate, takes="place, value")
    atomic.update = kind
    return atomic


atomic_add = _atomic(Update.ADD, operator.add)
atomic_sub = _atomic(Update.SUB, operator.sub)
atomic_mul = _atomic(Update.MUL, operator.mul)
atomic_min = _atomic(Update.MIN, fn.min)
atomic_max = _atomic(Update.MAX, fn.max)
atomic_and = _atomic(Update.AND, operator.and_)
atomic_or = _atomic(Update.OR, operator.or_)
atomic_xor = _atomic(Update.XOR, operator.xor)
atomic_exchange = _atomic(Update.EXCHANGE, lambda before, value: value)


def _value_itself(value: Any) -> Any:
    if isinstance(value, Matrix | Struct | tuple | list) or ex.is_scalar(value):
        return value
    raise TaichiSyntaxError("ti.stop_grad of a field or an array can only be used inside a kernel")


@special(python=_value_itself, takes="value")
def stop_grad(t: Translator, node: ast.Call) -> Any:
    """Return a value through which no derivative passes. JAX calls this `stop_gradient`, torch
    `detach`.

    Args:
        value: a scalar, a vector, a matrix, a struct or a tuple. For a field or an array argument,
            loads from it carry no derivative in the rest of the block.

    Returns:
        The value.

    Raises:
        TaichiSyntaxError: there are several arguments.
        TaichiTypeError: the argument is anything else.

    Example:
        `loss[None] += weight[i] * ti.stop_grad(x[i])` has no derivative with respect to `x[i]`.
    """
    if len(node.args) != 1 or node.keywords:
        raise TaichiSyntaxError("ti.stop_grad takes one value, or one field")
    value = t.visit(node.args[0])
    array = array_ref(value)
    if array is None or any(leaf.component is not None for leaf in array.leaves()):
        if t.unused is node:
            raise TaichiSyntaxError(
                "ti.stop_grad of a value returns the value without its derivative, but the "
                "result is not used here: only ti.stop_grad(x) of a whole field is a statement"
            )
        return without_derivative(t.read(value), "the argument of ti.stop_grad")
    t.builder.stopped.extend([leaf.value for leaf in array.leaves()])
    return None


@special(python=print, takes="*values")
def print_special(t: Translator, node: ast.Call) -> None:
    """Print at run time."""
    options = {keyword.arg: t.visit_value(keyword.value) for keyword in node.keywords}
    emit_print(
        [t.visit_value(argument) for argument in node.args],
        options.get("sep", " "),
        options.get("end", "\n"),
    )


@special(python=NdRange, takes="*ranges, axes=")
def ndrange(t: Translator, node: ast.Call) -> NdRange:
    """A box of indices to loop over: `for i, j in ti.ndrange(n, (1, m))`.

    Args:
        ranges: for each axis an integer extent, or a pair `(first, end)` of integers.
        axes: the order of the axes, outermost first. By default the last index changes fastest.

    Raises:
        TaichiSyntaxError: an option is unknown.
    """
    keywords = {str(keyword.arg): t.visit_value(keyword.value) for keyword in node.keywords}
    if unknown := keywords.keys() - {"axes"}:
        raise TaichiSyntaxError(f"ti.ndrange has no option {', '.join(sorted(unknown))}")
    return NdRange(*t.visit_values(node.args), axes=keywords.get("axes"))


@special(python=GroupedDomain, takes="domain")
def grouped(t: Translator, node: ast.Call) -> GroupedDomain:
    """Loop over a field, an array or an `ndrange` with a single index, a vector of i32."""
    return GroupedDomain(t.visit_value(node.args[0]))
