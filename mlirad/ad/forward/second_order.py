"""Second derivatives: forward mode over reverse mode (Griewank and Walther 2008, §5.4).

Launches run with tangents, and so do their reverses: where the tangents of the parameters are v,
those of the gradients become H v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.ad.forward.forward_mode import floats
from mlirad.ad.forward.forward_over_reverse import ForwardOverReverse
from mlirad.ad.forward.overwritten import arrays_put_back
from mlirad.ad.tape.seeds import as_list, has_twice
from mlirad.ad.tape.tape import Tape
from mlirad.errors import TaichiTypeError
from mlirad.lang.field.field import Field
from mlirad.runtime.program import program

Array = np.ndarray[Any, Any]
WIDTH = 8  # rows of a Hessian that are computed at once


def hvp(
    computation: Callable[[], Any],
    loss: Field,
    wrt: Field | Sequence[Field],
    v: Any,
    memory: int | float | str | None = None,
) -> Any:
    """Return the Hessian of `loss` times a vector.

    Afterwards `wrt.grad` holds the gradients of `loss`. All other fields, except `loss` and fields
    that hold derivatives, keep their values, and so do arrays.

    Args:
        computation: a function that launches the kernels that compute `loss`.
        loss: a 0-D field. It is set to 0 first.
        wrt: a float field, or a list of fields.
        v: an array with the shape of `wrt`, including the shape of its elements, or a list of
            arrays. A large array is not copied, so do not write to it during the call.
        memory: a memory limit for what is kept, tangents included, as in `Tape`.

    Returns:
        An array with the shape of `v`, or a list.

    Raises:
        TaichiTypeError: `wrt` or `v` has the wrong type or shape.
        TaichiRuntimeError: the program calls a function with its own gradient, or runs in a tape.
    """
    fields, several = _fields(wrt)
    vectors = list(v) if several else [v]
    if len(vectors) != len(fields):
        raise TaichiTypeError(f"{len(vectors)} vectors for {len(fields)} fields")
    directions = [_direction(field, vector)[np.newaxis] for field, vector in zip(fields, vectors)]
    products = [rows[0] for rows in _products(computation, loss, fields, directions, memory)]
    return products if several else products[0]


def hessian(computation: Callable[[], Any], loss: Field, wrt: Field | Sequence[Field]) -> Any:
    """Return the matrix of second derivatives of `loss` with respect to `wrt`, of shape `shape +
    shape`; see `hvp`.

    For a list of fields the result is a list of lists: entry (i, j) has the shape of field i, then
    that of field j. The program runs once for every eight elements.
    """
    fields, several = _fields(wrt)
    shapes = [(*field.shape, *field.element_shape) for field in fields]
    sizes = [int(np.prod(shape)) for shape in shapes]
    rows: list[list[Array]] = [[] for _ in fields]
    for first in range(0, sum(sizes), WIDTH):
        count = min(WIDTH, sum(sizes) - first)
        units = np.eye(count, sum(sizes), first)
        blocks_of_units = np.split(units, np.cumsum(sizes)[:-1], axis=1)
        directions = [block.reshape(count, *shape) for block, shape in zip(blocks_of_units, shapes)]
        for products, block_rows in zip(rows, _products(computation, loss, fields, directions)):
            products.append(block_rows)
    blocks = [
        [
            block.reshape((*shapes[i], *shapes[j]))
            for i, block in enumerate(np.split(np.concatenate(products), np.cumsum(sizes)[:-1]))
        ]
        for j, products in enumerate(rows)
    ]
    return (
        [[blocks[j][i] for j in range(len(fields))] for i in range(len(fields))]
        if several
        else blocks[0][0]
    )


def _products(
    computation: Callable[[], Any],
    loss: Field,
    fields: Sequence[Field],
    directions: Sequence[Array],
    memory: int | float | str | None = None,
) -> list[Array]:
    """H v for several v, of shape `(k, *shape)` for each field."""
    with program().threads.alone:
        products = None
        while products is None:  # kernels that lacked tangents are launched with them then
            order = ForwardOverReverse(program(), fields, directions)
            try:
                with arrays_put_back(order.program):
                    products = _run(order, Tape(loss, memory=memory), computation, loss)
            finally:
                order.end()
        return products


def _run(
    order: ForwardOverReverse, tape: Tape, computation: Callable[[], Any], loss: Field
) -> list[Array] | None:
    """Return H v; None if tangents are read that were not computed."""
    tape.order = order
    try:
        with tape:
            computation()
            if not order.unread.settle():
                raise _Unread
    except BaseException as error:
        order.overwritten.restore()
        if isinstance(error, _Unread):
            return None
        raise
    value = loss.to_numpy()
    order.overwritten.restore()
    loss.from_numpy(value)
    return order.products()


class _Unread(Exception):
    """A run ends without its reverse."""


def _fields(wrt: Field | Sequence[Field]) -> tuple[list[Field], bool]:
    fields, several = as_list(wrt)
    for field in fields:
        if not isinstance(field, Field) or not field.dtype.is_float or field.primal is not None:
            raise TaichiTypeError(
                f"expected a float field to differentiate with respect to, got {field!r}"
            )
    if has_twice(fields):
        raise TaichiTypeError(
            "a field occurs twice in the list of fields to differentiate with respect to"
        )
    return fields, several


def _direction(field: Field, v: Any) -> Array:
    values, shape = floats(v), (*field.shape, *field.element_shape)
    if values.shape != shape:
        raise TaichiTypeError(
            f"a vector of shape {values.shape} for field '{field.symbol}' of shape {shape}"
        )
    return values


__all__ = ["hessian", "hvp"]
