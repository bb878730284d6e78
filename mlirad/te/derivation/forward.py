"""`te.jvp`, `te.hvp`: tangents of tensors, as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.dialect.turn import in_turn
from mlirad.sweeps.tensors.te_forward import tangent
from mlirad.te.definitions.arguments import checked, refuse
from mlirad.te.definitions.dependencies import behind, consumed, is_stopped
from mlirad.te.definitions.size_needs import inherit_needs
from mlirad.te.derivation.differentiate import check_float, differentiate, zeros
from mlirad.te.graph import graph
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
    for one in wanted:
        check_float("jvp", "outputs", one)
    known = _given("jvp", "tangents", inputs, tangents)
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


def _given(
    what: str, argument: str, inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> dict[Tensor, Tensor]:
    """Inputs and their tangents. Raises TaichiTypeError where these do not fit."""
    if len(inputs) != len(tangents):
        refuse(what, f"inputs and {argument}", f"are {len(inputs)} and {len(tangents)}")
    if len(set(inputs)) < len(inputs):
        refuse(what, "inputs", "has a tensor twice: an input is named twice, with a tangent each")
    for one, own in zip(inputs, tangents):
        check_float(what, "inputs", one)
        if not same_shape(one.shape, own.shape) or one.dtype != own.dtype:
            why = f"has {own!r} for {one!r}, of another shape or type"
            refuse(what, argument, why)
    return dict(zip(inputs, tangents))


@checked
@in_turn
def hvp(output: Tensor, inputs: Sequence[Tensor], directions: Sequence[Tensor]) -> list[Tensor]:
    """The product of the second derivative of an output without axes with directions, which have
    the shapes and types of the inputs: for each input a tensor of its shape. Raises TaichiTypeError
    for an output with axes and for other directions, TaichiDerivativeError for what has no
    derivative."""
    if output.ndim:
        refuse("hvp", "output", f"is {output!r}, expected one without axes")
    check_float("hvp", "output", output)
    _given("hvp", "directions", inputs, directions)
    gradients = list(differentiate(output, inputs))
    found: list[Tensor] = jvp(gradients, inputs, directions)
    return found
