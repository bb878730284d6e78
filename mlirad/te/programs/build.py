"""`te.build`: tensors compiled to a function of arrays and fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.dialect.turn import in_turn
from mlirad.te.definitions.arguments import check_arguments, refuse
from mlirad.te.definitions.schedule import Schedule
from mlirad.te.places import place
from mlirad.te.programs.plans import Plans
from mlirad.te.programs.programs import module_of
from mlirad.te.programs.tensor_function import TensorFunction
from mlirad.te.tensor import Tensor


@check_arguments
@in_turn
def build(
    outputs: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor],
    name: str = "tensors",
    *,
    schedule: Mapping[Tensor, Schedule] | None = None,
    inline: Sequence[Tensor] = (),
    materialise: Sequence[Tensor] = (),
) -> TensorFunction:
    """A function that takes an array for each input and gives one for each output.

    A call takes NumPy's and torch's arrays, `ti.ndarray`s and fields, and gives NumPy arrays, or
    what `out=` names. `schedule` says how to compute some definitions; those of `inline` are
    written into what reads them, those of `materialise`, and all that are scheduled, have arrays.
    Raises TaichiTypeError if outputs are made of a placeholder that is no input, or a schedule
    does not fit.
    """
    results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    if not results:
        refuse("build", "outputs", "are none")
    if not name:
        refuse("build", "name", "is empty")
    input_values = {tensor.value: k for k, tensor in enumerate(inputs)}
    if len(input_values) < len(inputs):
        refuse("build", "inputs", "has a tensor twice")
    plans = Plans(dict(schedule or {}), tuple(inline), tuple(materialise))
    module = module_of(results, list(inputs), name, place(), plans=plans)
    return TensorFunction(module, gives_list=not isinstance(outputs, Tensor))
