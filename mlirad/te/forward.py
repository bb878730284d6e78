"""`te.jvp`, `te.hvp`: tangents of tensors, as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiTypeError
from mlirad.sweeps.tensors.forward import tangent
from mlirad.te.arguments import checked
from mlirad.te.dependencies import behind, consumed, is_stopped
from mlirad.te.differentiate import check_float, differentiate, zeros
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.size_needs import inherit_needs
from mlirad.te.tensor import Tensor, same_shape


@checked
@in_turn
def jvp(
    outputs: Tensor | Sequence[Tensor], inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> Any:
    """The tangents of outputs, for those of some inputs, which have their shapes: forward mode.

    Raises TaichiTypeError for a tangent of another shape or type, and for integers.
    """
    wanted = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    if len(inputs) != len(tangents):
        raise TaichiTypeError(f"{len(tangents)} tangents for {len(inputs)} inputs", place())
    if len(set(inputs)) < len(inputs):
        raise TaichiTypeError("an input is named twice, with a tangent each time", place())
    for one in wanted:
        check_float(one)
    known: dict[Tensor, Tensor] = {}
    for one, own in zip(inputs, tangents):
        check_float(one)
        if not same_shape(one.shape, own.shape) or one.dtype != own.dtype:
            raise TaichiTypeError(
                f"the tangent of {one!r} is {own!r}, of another shape or type", place()
            )
        known[one] = own
    order = behind(wanted)
    for one in order:
        if one in known or is_stopped(one) or not one.dtype.is_float:
            continue
        sources = {s.value: known[s].value for s in consumed(one) if s in known}
        if sources:
            with graph().defining(one.place):
                value = tangent(one.value, sources)
            name = f"{one.name}.tangent"
            known[one] = graph().named(Tensor(value, one.shape, one.dtype, name, one.place))
    found = [known[one] if one in known else zeros(one.shape, one) for one in wanted]
    inherit_needs(found, order)
    return found[0] if isinstance(outputs, Tensor) else found


@checked
@in_turn
def hvp(output: Tensor, inputs: Sequence[Tensor], directions: Sequence[Tensor]) -> list[Tensor]:
    """The product of the second derivative of an output without axes with directions, which have
    the shapes and types of the inputs: for each input a tensor of its shape. Raises TaichiTypeError
    for an output with axes and for other directions, TaichiDerivativeError for what has no
    derivative."""
    if output.ndim:
        raise TaichiTypeError(f"te.hvp takes an output without axes, not {output!r}", place())
    gradients = list(differentiate(output, inputs))
    found: list[Tensor] = jvp(gradients, inputs, directions)
    return found
