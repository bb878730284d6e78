"""A function of arrays as one of JAX's: a primitive, which has a JVP rule and a transpose, and so
works in forward and in reverse mode; `custom_jvp` and `custom_vjp` give one of both.

Calls under `jit` go by way of `jax.pure_callback`, others to the function at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from mlirad.foreign.array_function import ArrayFunction, refuse_in_a_tape
from mlirad.foreign.jax_node import Node, canonical
from mlirad.runtime.program import program


class JaxFunction:
    """Takes JAX's arrays, or what it makes arrays of, and gives new ones, as `pack` puts them
    together; works under `jit`, `grad`, `vjp`, `jvp`, `vmap` (one after the other) and their kin.

    Types are JAX's: without `jax_enable_x64`, arrays of 64 bits come and go as those of 32.
    """

    def __init__(self, function: ArrayFunction, pack: Callable[[Sequence[Any]], Any]) -> None:
        try:
            primitive = _primitive()
        except ImportError as error:
            raise ImportError(f"{function.__name__}.jax() needs JAX: {error}") from error
        self._node, self._pack, self._primitive = Node(function), pack, primitive

    def __call__(self, *arrays: Any) -> Any:
        import jax.numpy as jnp

        function = self._node.function
        refuse_in_a_tape(program().threads.recorder, function.__name__, "JAX")
        if len(arrays) != len(function.inputs):
            raise TypeError(
                f"{function.__name__} takes {len(function.inputs)} arrays, got {len(arrays)}"
            )
        converted = [jnp.asarray(array) for array in arrays]
        for number, (array, port) in enumerate(zip(converted, function.inputs)):
            if array.dtype != canonical(port.dtype.numpy):
                raise TypeError(
                    f"{function.__name__}: argument {number}: expected an array of "
                    f"{canonical(port.dtype.numpy)}, got {array.dtype}"
                )
        return self._pack(self._primitive.bind(*converted, node=self._node))


@cache
def _primitive() -> Any:
    """The primitive of all functions; JAX is imported when one is made."""
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("mlirad")
    primitive.multiple_results = True
    primitive.def_impl(_now)
    primitive.def_abstract_eval(_abstract)
    mlir.register_lowering(primitive, mlir.lower_fun(_later, multiple_results=True))
    ad.primitive_jvps[primitive] = partial(_forward, primitive)
    ad.primitive_transposes[primitive] = partial(_transpose, primitive)
    batching.primitive_batchers[primitive] = partial(_by_row, primitive)
    return primitive


def _now(*arrays: Any, node: Node) -> list[Any]:
    import jax.numpy as jnp

    return [jnp.asarray(output) for output in node.on_host(*arrays)]


def _abstract(*arrays: Any, node: Node) -> list[Any]:
    from jax.core import ShapedArray

    outputs = node.function.outputs
    return [
        ShapedArray(shape, canonical(port.dtype.numpy))
        for shape, port in zip(node.shapes(arrays), outputs)
    ]


def _later(*arrays: Any, node: Node) -> Any:
    import jax

    like = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in _abstract(*arrays, node=node)]
    return jax.pure_callback(node.on_host, tuple(like), *arrays, vmap_method="sequential")


def _forward(primitive: Any, primals: Sequence[Any], tangents: Sequence[Any], *, node: Node) -> Any:
    """The values, and their tangents."""
    from jax import typeof
    from jax.interpreters import ad

    values = primitive.bind(*primals, node=node)
    along: list[Any] = [ad.Zero(typeof(value).to_tangent_aval()) for value in values]
    ports = node.function.inputs
    moving = [k for k, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    numbers = tuple(k for k in moving if ports[k].dtype.is_float)
    if not numbers or not node.floats:
        return values, along
    if {*numbers} <= {*node.linear}:
        seeds = [
            ad.instantiate_zeros(tangents[k]) if k in node.linear else primal
            for k, primal in enumerate(primals)
        ]
        return values, primitive.bind(*seeds, node=node)
    seeds = [ad.instantiate_zeros(tangents[k]) for k in numbers]
    results = primitive.bind(*primals, *seeds, node=node.tangent(numbers))
    for number, tangent in zip(node.floats, results):
        along[number] = tangent
    return values, along


def _transpose(primitive: Any, cotangents: Sequence[Any], *arrays: Any, node: Node) -> list[Any]:
    """The cotangents of the arguments in which a derivative is linear."""
    from jax.interpreters import ad

    primals = [array for k, array in enumerate(arrays) if k not in node.linear]
    heads = [ad.instantiate_zeros(cotangent) for cotangent in cotangents]
    results = primitive.bind(*primals, *heads, node=node.transpose())
    back = dict(zip(node.linear, results))
    return [back[k] if ad.is_undefined_primal(array) else None for k, array in enumerate(arrays)]


def _by_row(
    primitive: Any, arrays: Sequence[Any], axes: Sequence[int | None], *, node: Node
) -> Any:
    """Call a function for each row of those arguments that have an axis of rows."""
    import jax

    axis_of = {k: axis for k, axis in enumerate(axes) if axis is not None}
    rows = tuple(jax.numpy.moveaxis(arrays[k], axis, 0) for k, axis in axis_of.items())

    def one_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
        row_of = dict(zip(axis_of, row))
        arguments = [row_of.get(k, array) for k, array in enumerate(arrays)]
        return tuple(primitive.bind(*arguments, node=node))

    results = jax.lax.map(one_row, rows)
    return list(results), [0] * len(results)
