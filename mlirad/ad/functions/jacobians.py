"""The Jacobian of a program over fields, as a function of arrays: its rows by reverses of one tape,
or several of its columns at once by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from mlirad.ad.forward.forward_mode import FwdMode
from mlirad.ad.functions.programs import ProgramFunction, of_kind
from mlirad.ad.tape.tape import Tape
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.recorder import Target
from mlirad.runtime.program import program

Array = np.ndarray[Any, Any]
MODES = ("forward", "reverse")
WIDTH = 8  # columns that one pass of forward mode computes
WORTH = 2  # columns that cost as much as a row: a reverse reads what the forward pass saved


def check_options(mode: str | None, width: int) -> None:
    """Raise ValueError for what is no mode, and for a width below 1."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"mode of ti.ad.jacobian is 'forward' or 'reverse', not {mode!r}")
    if width < 1:
        raise ValueError(f"width of ti.ad.jacobian is at least 1, not {width}")


def jacobian_function(
    function: ProgramFunction, mode: str | None, width: int | None
) -> Callable[..., Any]:
    """Return the function from arrays for the inputs to the Jacobian, as `ti.ad.jacobian`
    describes it. Raises ValueError for other modes and widths."""
    columns = WIDTH if width is None else width
    check_options(mode, columns)

    def jacobian(*arrays: Any) -> Any:
        blocks = [
            tuple(row) if function.several_inputs else row[0]
            for row in _blocks(function, arrays, mode, columns)
        ]
        return tuple(blocks) if function.several_outputs else blocks[0]

    return jacobian


def _blocks(
    function: ProgramFunction, arrays: Sequence[Any], mode: str | None, width: int
) -> list[list[Any]]:
    """Return, for each output, the derivatives with respect to each input."""
    values, kind = function.fitting(arrays, "argument")
    matrix = jacobian_matrix(function, values, mode, width)
    return [
        [
            of_kind(_block(block, output, target), kind)
            for block, target in zip(_pieces(columns.T, function.inputs), function.inputs)
        ]
        for columns, output in zip(_pieces(matrix.T, function.outputs), function.outputs)
    ]


def jacobian_matrix(
    function: ProgramFunction, values: Sequence[Array], mode: str | None, width: int
) -> Array:
    """Return a row for each element of the outputs, a column for each of the inputs. If no mode
    is named, it is the one that is likely to cost less."""
    rows, columns = sum(map(size, function.outputs)), sum(map(size, function.inputs))
    targets = [*function.outputs, *function.inputs]
    matrix = np.zeros((rows, columns), np.result_type(*(t.dtype.numpy for t in targets)))
    is_forward = columns <= WORTH * rows if mode is None else mode == "forward"
    with program().threads.alone:
        if is_forward:
            _fill_columns(matrix, function, values, width)
        else:
            _fill_rows(matrix, function, values)
    return matrix


def size(target: Target) -> int:
    """Return how many numbers a field or an ndarray has."""
    return prod((*target.shape, *target.element_shape))


def split_by(vectors: Array, targets: Sequence[Target]) -> list[Array]:
    """Return the elements of several targets, which lie one after the other along the last axis,
    in the shapes of each."""
    return [
        piece.reshape((*vectors.shape[:-1], *target.shape, *target.element_shape))
        for piece, target in zip(_pieces(vectors, targets), targets)
    ]


def _pieces(vectors: Array, targets: Sequence[Target]) -> list[Array]:
    return np.split(vectors, np.cumsum([size(target) for target in targets])[:-1], axis=-1)


def _block(block: Array, output: Target, target: Target) -> Array:
    """Return the derivatives of an output with respect to an input in their shape and type."""
    shape = (*output.shape, *output.element_shape, *target.shape, *target.element_shape)
    return block.reshape(shape).astype(np.result_type(output.dtype.numpy, target.dtype.numpy))


def _fill_rows(matrix: Array, function: ProgramFunction, values: Sequence[Array]) -> None:
    """Record the program once, and reverse it for each element of the outputs."""
    rows = matrix.shape[0]
    with function.at(values):
        with Tape() as tape:
            function.run()
        for number in range(rows):
            heads = split_by(np.eye(1, rows, number)[0], function.outputs)
            tape.grad(dict(zip(function.outputs, heads)))
            matrix[number] = np.concatenate([t.grad.to_numpy().ravel() for t in function.inputs])


def _fill_columns(
    matrix: Array, function: ProgramFunction, values: Sequence[Array], width: int
) -> None:
    """Run the program with tangents, as often as the elements of the inputs need. Every run draws
    the same random numbers, and has as many tangents: kernels are compiled once."""
    columns, current = matrix.shape[1], program()
    passes = ceil(columns / width)
    count, draws = ceil(columns / max(passes, 1)), current.random.launches
    before: list[Array] = []
    for first in range(0, columns, max(count, 1)):
        current.random.rewind(draws)
        seeds = split_by(np.eye(count, columns, first), function.inputs)
        with function.at(values):
            with FwdMode(function.outputs, function.inputs, seeds) as mode:
                function.run()
            results = [target.to_numpy() for target in function.outputs]
        before = before or results
        _check_same(function, before, results)
        tangents = [mode.tangents(target) for target in function.outputs]
        block = np.concatenate([rows.reshape(count, -1) for rows in tangents], axis=-1)
        matrix[:, first : first + count] = block.T[:, : columns - first]


def _check_same(
    function: ProgramFunction, before: Sequence[Array], results: Sequence[Array]
) -> None:
    """Raise TaichiRuntimeError if a later run gave other outputs than the first one: columns of
    both do not belong together."""
    for target, first, later in zip(function.outputs, before, results):
        tolerance = float(np.finfo(target.dtype.numpy).eps) ** 0.5
        scale = float(np.max(np.abs(first), initial=0.0, where=np.isfinite(first)))
        if not np.allclose(later, first, tolerance, tolerance * scale, equal_nan=True):
            raise TaichiRuntimeError(
                f"{function.name}: the program gave other outputs when it ran again: it uses what "
                "Python changed in the first run. mode='reverse' runs it once"
            )
