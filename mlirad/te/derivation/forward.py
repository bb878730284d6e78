"""`te.jvp`, `te.hvp`: tangents of tensors, as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.dialect.turn import in_turn
from mlirad.sweeps.tensors.te_forward import tangent
from mlirad.te.definitions.arguments import check_arguments, refuse
from mlirad.te.definitions.dependencies import behind, consumed_tensors, is_stopped
from mlirad.te.definitions.size_needs import inherit_needs
from mlirad.te.derivation.differentiate import check_float, differentiate, zeros
from mlirad.te.graph import graph
from mlirad.te.tensor import Tensor, same_shape


@check_arguments
@in_turn
def jvp(
    outputs: Tensor | Sequence[Tensor], inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> Any:
    """Return the tangents of outputs, given the tangents of inputs (forward mode).

    Args:
        outputs: a tensor, or several.
        inputs: the tensors with respect to which the outputs are differentiated.
        tangents: the tangents of the inputs, with the same shapes.

    Raises:
        TaichiTypeError: a tangent has the wrong shape or type, or an input has an integer type.
    """
    results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    for tensor in results:
        check_float("jvp", "outputs", tensor)
    tangent_of = _pair_with_tangents("jvp", "tangents", inputs, tangents)
    order = behind(results)
    for tensor in order:
        if tensor in tangent_of or is_stopped(tensor) or not tensor.dtype.is_float:
            continue
        sources = {
            s.value: tangent_of[s].value for s in consumed_tensors(tensor) if s in tangent_of
        }
        if sources:
            with graph().defining(tensor.place):
                value = tangent(tensor.value, sources)
            name = f"{tensor.name}.tangent"
            tangent_of[tensor] = graph().add_tensor(
                Tensor(value, tensor.shape, tensor.dtype, name, tensor.place)
            )
    result_tangents = [
        tangent_of[result] if result in tangent_of else zeros(result.shape, result)
        for result in results
    ]
    inherit_needs(result_tangents, order)
    return result_tangents[0] if isinstance(outputs, Tensor) else result_tangents


def _pair_with_tangents(
    caller: str, argument: str, inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> dict[Tensor, Tensor]:
    """Inputs and their tangents. Raises TaichiTypeError if these do not fit."""
    if len(inputs) != len(tangents):
        refuse(
            caller,
            f"inputs and {argument}",
            f"have different lengths, {len(inputs)} and {len(tangents)}",
        )
    if len(set(inputs)) < len(inputs):
        refuse(caller, "inputs", "contains a tensor twice")
    for tensor, direction in zip(inputs, tangents):
        check_float(caller, "inputs", tensor)
        if not same_shape(tensor.shape, direction.shape) or tensor.dtype != direction.dtype:
            why = f"has {direction!r} for {tensor!r}, of another shape or type"
            refuse(caller, argument, why)
    return dict(zip(inputs, tangents))


@check_arguments
@in_turn
def hvp(output: Tensor, inputs: Sequence[Tensor], directions: Sequence[Tensor]) -> list[Tensor]:
    """Return the second derivative of an output, multiplied by directions.

    Args:
        output: a tensor without axes.
        inputs: the tensors with respect to which it is differentiated.
        directions: tensors with the shapes and types of the inputs.

    Returns:
        For each input a tensor of its shape.

    Raises:
        TaichiTypeError: the output has axes, or a direction does not fit.
        TaichiDerivativeError: an expression has no derivative.
    """
    if output.ndim:
        refuse("hvp", "output", f"is {output!r}, expected a tensor without axes")
    check_float("hvp", "output", output)
    _pair_with_tangents("hvp", "directions", inputs, directions)
    gradients = list(differentiate(output, inputs))
    products: list[Tensor] = jvp(gradients, inputs, directions)
    return products
