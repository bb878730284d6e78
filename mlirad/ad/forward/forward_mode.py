"""Forward mode: kernels launched with tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.ad.forward.tangent_recorder import TangentRecorder
from mlirad.ad.recorder.lost import chain, next_on_the_way, warn_of_hidden_field
from mlirad.ad.tape.seeds import as_list, has_twice
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import LaunchedKernel
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.program import Program, program, settled

Array = np.ndarray[Any, Any]


class FwdMode:
    """Launch the kernels of a `with` block in forward mode. At the end of the block `loss.dual` is
    the Jacobian times `seed`.

    Duals are allocated when they are needed. A derivative that passes through a field without a
    dual is carried in a hidden one, with a warning if the field has no gradient either.

    Args:
        loss: a float field or ndarray, or a list of them, of any shape.
        param: the float field or ndarray with respect to which you differentiate, or a list.
        seed: the direction: numbers in the shape of `param`, or in one list; 1 by default if
            `param` has one element. For a list of parameters, a list of seeds. A seed of shape `(k,
            *shape)` or `(k, size)` holds k directions, which run in one pass; `tangents` returns
            their results, and `dual` is refused.
        clear_gradients: set all duals to 0 first.

    Raises:
        RuntimeError: there is no seed, and `param` has several elements.
        TaichiTypeError: a seed has the wrong shape, or an argument is not a float field or ndarray.
        TaichiRuntimeError: the block is inside a tape or another forward mode; or a launch calls a
            function with its own reverse gradient, or passes a derivative to an array without a
            dual.
    """

    def __init__(
        self,
        loss: Target | Sequence[Target],
        param: Target | Sequence[Target],
        seed: Any = None,
        clear_gradients: bool = True,
    ) -> None:
        self.loss = [_differentiable(target, "loss") for target in as_list(loss)[0]]
        params, several = as_list(param)
        self.param = [_differentiable(target, "param") for target in params]
        if has_twice(self.param):
            raise TaichiTypeError("`param` of FwdMode contains a field twice: add up its seeds")
        if several and seed is not None and len(seed) != len(self.param):
            raise TaichiTypeError(f"{len(seed)} seeds for {len(self.param)} parameters")
        directions = list(seed) if several and seed is not None else [seed] * len(self.param)
        self.seeds = [directions_of(target, v) for target, v in zip(self.param, directions)]
        self.count = self.seeds[0].shape[0]
        if any(seed.shape[0] != self.count for seed in self.seeds):
            raise TaichiTypeError(
                f"seeds of {[seed.shape[0] for seed in self.seeds]} directions for the parameters"
            )
        self.clear_gradients = clear_gradients
        self.entered = False
        self.recorder = TangentRecorder(program(), self.count)

    @property
    def program(self) -> Program:
        """Return the program whose launches run."""
        return self.recorder.program

    @property
    def calls(self) -> list[LaunchedKernel]:
        """Return the kernels that were launched."""
        return self.recorder.calls

    @property
    def modes(self) -> list[AutodiffMode]:
        """Return the mode in which each of `calls` was launched."""
        return [AutodiffMode.FORWARD for _ in self.calls]

    def __enter__(self) -> FwdMode:
        assert not self.entered, "Forward mode manager can be entered only once."
        current = program()
        if current.threads.recorder is not None:
            raise TaichiRuntimeError(
                "a tape or a forward mode is already recording: they cannot be nested"
            )
        self.entered, current.derivatives.directions = True, self.count
        self.recorder = recorder = TangentRecorder(current, self.count)
        current.trees.materialize()
        targets = [*self.loss, *self.param]
        fields = [target for target in targets if isinstance(target, Field)]
        for field in fields:
            recorder.duals.give(field.symbol)
        current.trees.materialize()
        claims = recorder.claims
        if self.clear_gradients:
            claims.clear(current.derivatives.tangents)
        claims.use([target.symbol for target in fields])
        claims.use_arrays([target for target in targets if isinstance(target, Ndarray)])
        if self.clear_gradients:
            claims.clear_arrays(current.derivatives.arrays, Ndarray.clear_tangents)
        for target, seed in zip(self.param, self.seeds):
            for number in range(self.count):
                recorder.tangent(target, number).from_numpy(seed[number])
        current.threads.record_by(recorder)
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        self.recorder.close()
        for target in self.param:
            if any(target is output for output in self.loss):
                continue  # overwritten by the program, as a state is: what holds there is wanted
            for number in range(self.count):
                self.recorder.tangent(target, number).fill(0)
        self._warn_of_hidden()

    def tangents(self, output: Target) -> Array:
        """Return the tangents of a field or ndarray, of shape `(k, *shape)`: one row for each
        direction."""
        rows = [self.recorder.tangent(output, number) for number in range(self.count)]
        return np.stack([row.to_numpy() for row in rows])

    def _warn_of_hidden(self) -> None:
        """Name the fields without duals, and without gradients, on the way to the loss."""
        outputs = [target.symbol for target in self.loss if isinstance(target, Field)]
        duals = self.recorder.duals
        follows = next_on_the_way(reversed(duals.flows), outputs)
        for symbol, place in duals.hidden.items():
            derivatives = self.program.derivatives
            is_known = symbol in derivatives.adjoints or symbol in derivatives.primals
            if symbol in follows and not is_known:
                way = f"to the loss ({chain(symbol, follows)})"
                warn_of_hidden_field(self.program, symbol, place, "dual", way)


def _differentiable(target: object, role: str) -> Target:
    if isinstance(target, Field) and target.dtype.is_float and target.primal is None:
        return target
    if isinstance(target, Ndarray) and target.grad is not None:
        return target
    raise TaichiTypeError(
        f"`{role}` of FwdMode must be a float field, or an ndarray with needs_grad=True: got "
        f"{target!r}"
    )


_NO_SEED = (
    "`seed` is not set for non 0-D field, please specify. It is a list with one number for each "
    "element of the parameter: how much it changes. [0, 0, 1] gives derivatives with respect to "
    "the third of three elements"
)


def directions_of(param: Target, seed: Any) -> Array:
    """The seed as an array of shape `(k, *shape)`."""
    shape = (*param.shape, *param.element_shape)
    size = int(np.prod(shape))
    if seed is None:
        if size != 1:
            raise TaichiRuntimeError(_NO_SEED)
        return np.ones((1, *shape))
    rows = floats(seed)
    if rows.shape in (shape, (size,)) or (size == 1 and rows.shape == ()):
        return rows.reshape(1, *shape)
    if rows.ndim >= 1 and rows.shape[1:] in (shape, (size,)) and rows.shape[0] > 0:
        return rows.reshape(-1, *shape)
    raise TaichiTypeError(
        f"a seed of shape {rows.shape} for a parameter of shape {shape}: expected that shape, or "
        f"({size},), or (k, {size}) for k directions"
    )


def floats(values: Any) -> Array:
    """An array of floats, in their own type where they have one, that does not change with
    memory."""
    array = settled(np.asarray(values))
    return array if array.dtype.kind == "f" else array.astype(np.float64)
