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
    """Compile a function that takes an array for each input and returns one for each output.

    A call takes NumPy arrays, torch tensors, `ti.ndarray`s and fields. It returns NumPy arrays, or
    writes the arrays passed as `out=`.

    Args:
        outputs: a tensor, or several.
        inputs: the placeholders, in the order of the arguments.
        name: the name of the function.
        schedule: how to compute some definitions; each of them gets an array.
        inline: definitions that are substituted into the expressions that read them.
        materialise: definitions that are stored in an array.

    Raises:
        TaichiTypeError: the outputs depend on a placeholder that is not an input, or a schedule
            does not fit.
    """
    results = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    if not results:
        refuse("build", "outputs", "is empty: expected at least one tensor")
    if not name:
        refuse("build", "name", "is empty")
    input_values = {tensor.value: k for k, tensor in enumerate(inputs)}
    if len(input_values) < len(inputs):
        refuse("build", "inputs", "contains a tensor twice")
    plans = Plans(dict(schedule or {}), tuple(inline), tuple(materialise))
    module = module_of(results, list(inputs), name, place(), plans=plans)
    return TensorFunction(module, gives_list=not isinstance(outputs, Tensor))
