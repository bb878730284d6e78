"""A program over fields as functions of one vector, which optimizers take."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.ad.functions.jacobians import WIDTH, check_options, jacobian_matrix, size, split_by
from mlirad.ad.functions.programs import ProgramFunction
from mlirad.errors import TaichiTypeError

Vector = np.ndarray[Any, Any]


class VectorFunction:
    """A program as functions of a single vector of f64, which SciPy's `minimize` and
    `least_squares` and other optimizers take. `ti.ad.program(...).scipy()` returns it.

    The vector has the elements of all inputs, one input after the other. `f(x)` returns those of
    the outputs, of shape `(m,)` in f64. The program computes in the types of its fields. If these
    are f32, give SciPy the derivatives: it cannot take differences with its small steps.

    After a call, inputs and outputs hold the values of that call. `assign` writes the solution to
    the inputs.

    Raises:
        TaichiTypeError: in a call, a vector has another size, or does not have numbers.
        TaichiRuntimeError: in a call, it is inside a tape or a forward mode.

    Example:
        f = ti.ad.program(run, inputs=[position, velocity], output=residuals).scipy()
        solution = scipy.optimize.least_squares(f, f.x0, jac=f.jacobian)
        f.assign(solution.x)
    """

    def __init__(self, program: ProgramFunction) -> None:
        self._program = program
        self._size = sum(map(size, program.inputs))

    @property
    def x0(self) -> Vector:
        """Return the present values of the inputs, of shape `(n,)`."""
        return _joined([target.to_numpy() for target in self._program.inputs])

    def __call__(self, x: Any) -> Vector:
        values = self._program.values(self.split(x))
        return _joined(values if self._program.several_outputs else [values])

    def value_and_grad(self, x: Any) -> tuple[float, Vector]:
        """Return the output, which has one element, and its gradient, of shape `(n,)`: what
        `minimize(f.value_and_grad, f.x0, jac=True)` takes.

        Raises TaichiTypeError if the output has several elements.
        """
        outputs = self._program.outputs
        if len(outputs) != 1 or size(outputs[0]) != 1:
            raise TaichiTypeError(
                "value_and_grad: the output has several elements, and minimize takes one: use "
                "least_squares with jac=f.jacobian, or add up a loss"
            )
        head = np.ones((*outputs[0].shape, *outputs[0].element_shape))
        value, gradients = self._program.gradient(self.split(x), [head], {})
        value = value[0] if self._program.several_outputs else value
        pieces = gradients if self._program.several_inputs else [gradients]
        return float(np.asarray(value).item()), _joined(pieces)

    def jacobian(self, x: Any, mode: str | None = None, width: int = WIDTH) -> Vector:
        """Return the Jacobian, of shape `(m, n)`: a row for each element of the outputs. `mode` and
        `width` are those of `ti.ad.jacobian`, whose errors it raises."""
        check_options(mode, width)
        values = self._program.fitting(self.split(x), "argument")[0]
        return jacobian_matrix(self._program, values, mode, width).astype(np.float64)

    def split(self, x: Any) -> list[Vector]:
        """Return the elements of a vector as arrays in the shapes of the inputs.

        Raises TaichiTypeError for a vector of another size, or of what is no number.
        """
        vector = np.asarray(x)
        if vector.shape != (self._size,) or vector.dtype.kind not in "fiu":
            raise TaichiTypeError(
                f"expected a vector of {self._size} numbers, one for each element of the inputs, "
                f"got an array of shape {vector.shape} of {vector.dtype}"
            )
        return split_by(vector, self._program.inputs)

    def assign(self, x: Any) -> None:
        """Write the elements of a vector to the inputs. Raises what `split` raises."""
        for target, values in zip(self._program.inputs, self.split(x)):
            target.from_numpy(values.astype(target.dtype.numpy))


def _joined(arrays: Any) -> Vector:
    return np.concatenate([np.asarray(array, np.float64).ravel() for array in arrays])
