"""Derivatives as functions: `ti.ad.grad` and its kin, of functions in kernels and of programs over
fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from mlirad.ad.functions.derivatives import Derivative
from mlirad.ad.functions.jacobians import jacobian_function
from mlirad.ad.functions.programs import ProgramFunction
from mlirad.errors import TaichiTypeError
from mlirad.frontend.python.calls.transforms import Transform
from mlirad.frontend.python.source.function import Function
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target

Targets = Target | Sequence[Target]


def grad(
    function: Any,
    argnums: int | Sequence[int] = 0,
    *unnamed: object,
    inputs: Targets | None = None,
    output: Targets | None = None,
    head: object = None,
    override: Mapping[Field, Callable[[Any], Any]] | None = None,
) -> Any:
    """Return a function that computes the gradient of a `@ti.func` with a scalar result, or of a
    program.

    For a `@ti.func`, the returned function takes the same arguments. You can call it in kernels, in
    other functions and in Python.

    For a program, give `inputs` and `output`. The returned Python function takes one array for each
    input and returns arrays of the same kind (NumPy, torch, numbers): one for a single field,
    otherwise a tuple. All fields except inputs, outputs and gradients keep their values.

    Args:
        function: a `@ti.func`; or a program, which is a kernel or a Python function without
            arguments that computes `output` from `inputs`.
        argnums: the argument, or a tuple of arguments, with respect to which a `@ti.func` is
            differentiated.
        inputs: the field or fields with respect to which a program is differentiated.
        output: the field or fields that the program computes.
        head: the adjoint of the output, an array of its shape; 1 by default if its shape is ().
        override: a dictionary from fields to functions. The function gets the adjoint of the field,
            an array of its shape, and its result replaces the adjoint.

    Raises:
        TaichiTypeError: `function` is neither; a parameter does not exist; a field has no gradient;
            an overridden field is written by several launches. In a call: an argument is not a
            float, the result is not a scalar, the function has side effects, or an array has the
            wrong shape.
    """
    if _is_program(function, "grad", argnums, unnamed, inputs, output, head, override):
        called = value_and_grad(
            function, inputs=inputs, output=output, head=head, override=override
        )

        @wraps(called)
        def gradient(*arrays: Any) -> Any:
            return called(*arrays)[1]

        return gradient
    return Derivative("grad", function, argnums)


def value_and_grad(
    function: Any,
    argnums: int | Sequence[int] = 0,
    *unnamed: object,
    inputs: Targets | None = None,
    output: Targets | None = None,
    head: object = None,
    override: Mapping[Field, Callable[[Any], Any]] | None = None,
) -> Any:
    """Return a function that computes both the result of a `@ti.func`, or the outputs of a program,
    and the gradient; see `grad`."""
    if not _is_program(
        function, "value_and_grad", argnums, unnamed, inputs, output, head, override
    ):
        return Derivative("value_and_grad", function, argnums)
    program = ProgramFunction("ti.ad.grad", function, inputs, output)
    heads, overrides = program.heads(head), dict(override or {})

    def gradient(*arrays: Any) -> Any:
        return program.gradient(arrays, heads, overrides)

    return _with_name(gradient, function, "grad")


def jvp(
    function: Any,
    argnums: int | Sequence[int] = 0,
    *unnamed: object,
    inputs: Targets | None = None,
    output: Targets | None = None,
) -> Any:
    """Return a function that computes the result of a `@ti.func` and its tangent (Jacobian times
    vector).

    The returned function takes the arguments of `function`, then `tangent`, which has the shape of
    the argument that `argnums` names, or is a tuple. The tangent of the result has the structure of
    the result. For a program, give `inputs` and `output`: the returned function takes an array for
    each input, then `tangent`, one array or a tuple.
    """
    if not _is_program(function, "jvp", argnums, unnamed, inputs, output):
        return Derivative("jvp", function, argnums)
    program = ProgramFunction("ti.ad.jvp", function, inputs, output)

    def tangents(*arrays: Any, **named: Any) -> Any:
        arguments, tangent = _last(arrays, named, "tangent")
        return program.tangents(arguments, program.directions(tangent))

    return _with_name(tangents, function, "jvp")


def vjp(
    function: Any,
    argnums: int | Sequence[int] = 0,
    *unnamed: object,
    inputs: Targets | None = None,
    output: Targets | None = None,
    override: Mapping[Field, Callable[[Any], Any]] | None = None,
) -> Any:
    """Return a function that computes the result of a `@ti.func` and the adjoint of its argument
    (vector times Jacobian).

    The returned function takes the arguments of `function`, then `adjoint`, which has the structure
    of the result. For a program, give `inputs` and `output`: the returned function takes an array
    for each input, then `adjoint`, one array for the output or a tuple.
    """
    if not _is_program(function, "vjp", argnums, unnamed, inputs, output, None, override):
        return Derivative("vjp", function, argnums)
    program = ProgramFunction("ti.ad.vjp", function, inputs, output)

    def adjoints(*arrays: Any, **named: Any) -> Any:
        arguments, adjoint = _last(arrays, named, "adjoint")
        return program.gradient(arguments, program.heads(adjoint), dict(override or {}))

    return _with_name(adjoints, function, "vjp")


def jacobian(
    function: Any,
    argnums: int | Sequence[int] = 0,
    *unnamed: object,
    inputs: Targets | None = None,
    output: Targets | None = None,
    mode: str | None = None,
    width: int | None = None,
) -> Any:
    """Return a function that computes all derivatives of the result of a `@ti.func`, or of the
    output of a program.

    For a `@ti.func`: row i, column j is the derivative of component i of the result with respect to
    component j of the argument. If the result is a scalar, the shape is that of the argument; if
    the argument is a scalar, it is that of the result.

    For a program, give `inputs` and `output`. The returned Python function takes one array for each
    input and returns arrays of the same kind, of shape `output.shape + input.shape` (where each
    shape includes that of vector or matrix elements) and of the wider of both types. For a list of
    inputs, it returns a tuple with an array for each; for a list of outputs, a tuple with an entry
    for each. Afterwards, gradients have no defined values.

    Args:
        function, argnums, inputs, output: as for `grad`. The fields may be ndarrays.
        mode: "reverse" runs the program once and a reverse for each element of the outputs,
            "forward" runs the program for every `width` elements of the inputs. The default is
            "forward", unless the inputs have more than twice as many elements as the outputs.
        width: 8 by default. Every field that the program uses gets this many tangents.

    Raises:
        TaichiTypeError: as for `grad`, and for matrices as results or arguments of a `@ti.func`.
        ValueError: `mode` has another value, or `width` is below 1.
        TaichiRuntimeError: in a call, it is inside a tape; or in forward mode, the program calls a
            function from `grad_replaced`, or has other outputs when it runs again.

    Example:
        `ti.ad.jacobian(run, inputs=x, output=y)(np.zeros(3))` has shape (2, 3) if `y` has two
        elements.
    """
    if not _is_program(function, "jacobian", argnums, unnamed, inputs, output, mode, width):
        return Derivative("jacobian", function, argnums)
    program = ProgramFunction("ti.ad.jacobian", function, inputs, output)
    return _with_name(jacobian_function(program, mode, width), function, "jacobian")


def forward(function: Any, argnums: int | Sequence[int] = 0) -> Any:
    """Return a function that computes the derivative of a `@ti.func` with respect to a scalar
    argument. It has the shape of the result."""
    return Derivative("forward", function, argnums)


def _is_program(
    function: Any,
    kind: str,
    argnums: int | Sequence[int],
    unnamed: Sequence[object],
    *options: object,
) -> bool:
    """Return whether derivatives of a program are asked for. Raises TaichiTypeError where it is
    both or neither, or fields are passed without their keywords."""
    if unnamed or isinstance(argnums, Field | Ndarray):
        raise TaichiTypeError(
            f"ti.ad.{kind} takes the fields of a program by name: "
            f"ti.ad.{kind}(run, inputs=x, output=loss)"
        )
    if all(option is None for option in options):
        return False
    if isinstance(function, Function | Transform):
        raise TaichiTypeError(
            f"ti.ad.{kind}: inputs= and output= belong to a program, but '{function.__name__}' "
            "is a @ti.func"
        )
    if argnums != 0:
        raise TaichiTypeError(
            f"ti.ad.{kind}: argnums= belongs to a @ti.func; a program has inputs="
        )
    return True


def _last(arrays: tuple[Any, ...], named: dict[str, Any], word: str) -> tuple[tuple[Any, ...], Any]:
    """The arrays of the inputs, and what is given behind them or by name."""
    if set(named) - {word} or (word not in named and not arrays):
        raise TaichiTypeError(f"a program's derivative takes an array for each input, then {word}=")
    return (arrays, named[word]) if word in named else (arrays[:-1], arrays[-1])


def _with_name(function: Callable[..., Any], program: object, kind: str) -> Callable[..., Any]:
    function.__name__ = f"{kind}({getattr(program, '__name__', 'program')})"
    return function
