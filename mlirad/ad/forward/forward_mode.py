"""Forward mode: kernels launched with tangents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from mlirad.ad.functions.chains import chain, next_on_the_way
from mlirad.ad.functions.custom_gradients import nothing
from mlirad.ad.functions.targets import has_twice, listed
from mlirad.ad.tape.claims import Claims
from mlirad.ad.tape.places import caller, is_result_used
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.arguments import ArrayBuffer
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.field.field import Field, dual_kind
from mlirad.lang.kernel import Kernel, flat_values
from mlirad.lang.ndarray import Ndarray
from mlirad.pipeline.mode import Mode, with_tangents
from mlirad.runtime.footprints import Flow
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import Variant

_NO_SEED = (
    "`seed` is not set for non 0-D field, please specify. It is a list with one number for each "
    "element of the "
    "parameter: how much it changes. [0, 0, 1] gives derivatives with respect to the third of "
    "three elements"
)
Array = np.ndarray[Any, Any]


class FwdMode:
    """Launch the kernels of a `with` block with tangents: `loss.dual` is J v, at the end of the
    block.

    `loss` is a float field or ndarray, or a list of them; `param` is what derivatives are taken in,
    of any shape, or a list. `seed` is v: numbers in the shape of `param` or in one list, 1 where
    `param` has one element; for a list of parameters a list of these. A seed of shape `(k, *shape)`
    or `(k, size)` gives k directions, which are done in one pass; `tangents` has their results.
    Duals are allocated where they are needed; with `clear_gradients` all are set to 0 before.
    Derivatives that pass through fields without duals go on in hidden ones, with a warning where a
    field has no gradient either.

    Raises RuntimeError without a seed where there are several elements, TaichiTypeError for a seed
    of another shape and for what is no float field, TaichiRuntimeError within a tape or another
    forward mode, and at a launch that calls a function with a reverse gradient of its own, or
    passes derivatives to arrays without duals.
    """

    validates = False

    def __init__(
        self, loss: Any, param: Any, seed: Any = None, clear_gradients: bool = True
    ) -> None:
        self.loss = [_differentiable(one, "loss") for one in listed(loss)[0]]
        params, several = listed(param)
        self.param = [_differentiable(one, "param") for one in params]
        if has_twice(self.param):
            raise TaichiTypeError("`param` of FwdMode has a field twice: add up its seeds")
        if several and seed is not None and len(seed) != len(self.param):
            raise TaichiTypeError(f"{len(seed)} seeds for {len(self.param)} parameters")
        given = list(seed) if several and seed is not None else [seed] * len(self.param)
        self.seeds = [_directions(one, v) for one, v in zip(self.param, given)]
        self.count = self.seeds[0].shape[0]
        if any(one.shape[0] != self.count for one in self.seeds):
            raise TaichiTypeError(
                f"seeds of {[one.shape[0] for one in self.seeds]} directions for the parameters"
            )
        self.clear_gradients = clear_gradients
        self.entered = False
        self.is_constant = False  # inside a function without a derivative
        self.calls: list[Kernel] = []
        self.modes: list[AutodiffMode] = []
        self.program: Program = program()
        self.hidden: dict[str, str] = {}
        self._flows: dict[int, tuple[Flow, ...]] = {}  # by variant
        self._versions: dict[int, int] = {}  # of duals, at a variant's last launch

    def __enter__(self) -> FwdMode:
        assert not self.entered, "Forward mode manager can be entered only once."
        self.program = program()
        if self.program.recorder is not None:
            raise TaichiRuntimeError(
                "a tape or a forward mode is recording already: they cannot be nested"
            )
        self.entered = True
        self.program.materialize()
        for one in [*self.loss, *self.param]:
            if isinstance(one, Field):
                self._give(one.symbol)
        self.program.materialize()
        self.claims = Claims(self.program)
        if self.clear_gradients:
            self.claims.clear(self.program.tangents)
        self.claims.use([one.symbol for one in [*self.loss, *self.param] if isinstance(one, Field)])
        self.claims.use_arrays(
            [one for one in [*self.loss, *self.param] if isinstance(one, Ndarray)]
        )
        if self.clear_gradients:
            self.claims.clear_arrays(self.program.arrays, Ndarray.clear_tangents)
        for one, seed in zip(self.param, self.seeds):
            for number in range(self.count):
                self._tangent(one, number).from_numpy(seed[number])
        self.program.recorder = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.program.recorder = None
        for one in self.param:
            for number in range(self.count):
                self._tangent(one, number).fill(0)
        self._warn_of_hidden()

    def tangents(self, output: Any) -> Array:
        """The tangents of a field or ndarray, of shape `(k, *shape)`: a row for each direction."""
        return np.stack([self._tangent(output, number).to_numpy() for number in range(self.count)])

    def _tangent(self, one: Any, number: int) -> Any:
        return one.derivative(dual_kind(number)) if isinstance(one, Field) else one.tangent(number)

    def _give(self, symbol: str) -> None:
        for number in range(self.count):
            self.program.give_derivative[symbol](dual_kind(number))

    @property
    def _mode(self) -> Mode:
        return with_tangents(self.count, is_constant=self.is_constant)

    def launch(
        self, kernel: Kernel, variant: Variant, values: Sequence[Any], buffers: Sequence[Any]
    ) -> Any:
        """Launch a kernel with tangents; what it returns."""
        if self._versions.get(id(variant)) != self.program.tangent_version:
            self._give_duals(variant)
            self._versions[id(variant)] = self.program.tangent_version
        self.claims.use_variant(variant)
        self.claims.use_arrays(
            [buffer.owner for buffer in buffers if isinstance(buffer.owner, Ndarray)]
        )
        if not self.is_constant:
            self._flows[id(variant)] = variant.flows().between
        self.calls.append(kernel)
        self.modes.append(AutodiffMode.FORWARD)
        given = flat_values(values, buffers, variant, reverse=False, tangents=self.count)
        variant.check(variant.collision_check(self._mode), given)
        return variant.launch(self._mode, given)

    @in_turn
    def _give_duals(self, variant: Variant) -> None:
        """Give duals to the fields of a kernel to which derivatives pass, and as many as there are
        directions."""
        duals = self.program.duals
        variant.refresh()
        while True:
            missing = {
                symbol: ""
                for symbol in variant.kernel.fields
                if 0 < len(duals.get(symbol, ())) < self.count
            }
            for flow in () if self.is_constant else variant.flows().between:
                if any(self._carries(variant, source) for source in flow.sources):
                    if not self._may_arrive(variant, flow):
                        raise TaichiRuntimeError(
                            f"{flow.place}: a derivative passes to array argument {flow.target} of "
                            f"kernel '{variant.kernel.name}', which has no gradient"
                        )
                    if isinstance(flow.target, str) and flow.target not in duals:
                        missing[flow.target] = self.hidden[flow.target] = flow.place
            if not missing:
                return
            for symbol in missing:
                self._give(symbol)
            self.program.materialize()
            variant.refresh()

    def _carries(self, variant: Variant, array: str | int) -> bool:
        return (
            array in self.program.duals
            if isinstance(array, str)
            else variant.argument_needs_grad(array)
        )

    def _may_arrive(self, variant: Variant, flow: Flow) -> bool:
        if isinstance(flow.target, int):
            return variant.argument_needs_grad(flow.target)
        return flow.target in self.program.duals or flow.target in self.program.give_derivative

    def _warn_of_hidden(self) -> None:
        outputs = [one.symbol for one in self.loss if isinstance(one, Field)]
        follows = next_on_the_way(reversed(list(self._flows.values())), outputs)
        for symbol, place in self.hidden.items():
            if (
                symbol in follows
                and symbol not in self.program.warned
                and symbol not in self.program.adjoints
            ):
                self.program.warned.add(symbol)
                warnings.warn(
                    f"field '{symbol}' ({place}) has no dual, but carries a derivative to the loss "
                    f"({chain(symbol, follows)}): it got a hidden one; give it needs_dual=True, "
                    f"or cut the "
                    "derivative with ti.stop_grad",
                    stacklevel=3,
                )

    def replaced(
        self,
        function: Any,
        primal: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a function through which no derivative passes. Raises TaichiRuntimeError for one
        with a reverse."""
        if function.grad is not nothing:
            raise TaichiRuntimeError(
                f"'{function.__name__}' has a gradient of its own (ti.ad.grad_replaced), which "
                f"is a "
                "reverse: forward mode cannot pass through it"
            )
        outer, self.is_constant = self.is_constant, True
        self._versions.clear()
        try:
            return primal(*args, **keywords)
        finally:
            self.is_constant = outer
            self._versions.clear()

    def host_write(self, target: Any, index: tuple[int, ...] | None) -> None:
        """What Python writes has the tangent 0."""
        for view in self._views(target):
            view[... if index is None else index] = 0

    def _views(self, target: Any) -> list[Array]:
        if isinstance(target, Ndarray):
            return [one.values for one in target.tangents]
        own = target.located().view
        views = [
            self.program.fields[name].view for name in self.program.duals.get(target.symbol, ())
        ]
        if any(view.shape != own.shape for view in views):
            raise TaichiRuntimeError(
                f"a dual of field '{target.symbol}' is laid out unlike it: it cannot be written in "
                "Python within a forward mode"
            )
        return views

    def host_read(self, target: Any) -> None:
        """Warn, once a line, where a value that carries a derivative leaves the differentiated
        program."""
        place = caller()
        if place not in self.program.warned and any(view.any() for view in self._views(target)):
            self.program.warned.add(place)
            name = (
                f"'{target.symbol}'"
                if isinstance(target, Field)
                else f"a ti.ndarray of shape {target.shape}"
            )
            warnings.warn(
                f"{place}: {name} is read in Python inside a forward mode: what is computed from "
                f"it "
                "there carries no derivative",
                stacklevel=4,
            )

    def result(self, kernel: Kernel, variant: Variant, buffers: Sequence[ArrayBuffer]) -> None:
        """Warn, once a line, where the result of a launch carries a derivative and is used in
        Python."""
        sources = () if self.is_constant else variant.flows().results
        if not any(self._carries(variant, source) for source in sources):
            return
        place = caller()
        if place not in self.program.warned and is_result_used():
            self.program.warned.add(place)
            warnings.warn(
                f"{place}: the result of kernel '{kernel.__name__}' ({kernel.place}) is used in "
                f"Python inside a "
                "forward mode: what is computed from it there carries no derivative; let the "
                "kernel write it into a "
                "field",
                stacklevel=4,
            )

    def host_copy(self, target: Field, source: Field) -> None:
        """Tangents are copied too."""
        if source.symbol not in self.program.duals or self.is_constant or not target.dtype.is_float:
            self.host_write(target, None)
            return
        if len(self.program.duals.get(target.symbol, ())) < self.count:
            if target.symbol not in self.program.duals:
                self.hidden[target.symbol] = caller()
            self._give(target.symbol)
            self.program.materialize()
        self.claims.use([target.symbol, source.symbol])
        for number in range(self.count):
            self._tangent(target, number).from_numpy(self._tangent(source, number).to_numpy())


def _differentiable(one: Any, what: str) -> Any:
    if isinstance(one, Field) and one.dtype.is_float and one.primal is None:
        return one
    if isinstance(one, Ndarray) and one.grad is not None:
        return one
    raise TaichiTypeError(
        f"`{what}` of FwdMode is a float field, or an ndarray with needs_grad=True, not {one!r}"
    )


def _directions(param: Any, seed: Any) -> Array:
    """The seed as an array of shape `(k, *shape)`."""
    shape = (*param.shape, *param.element_shape)
    size = int(np.prod(shape))
    if seed is None:
        if size != 1:
            raise TaichiRuntimeError(_NO_SEED)
        return np.ones((1, *shape))
    given = floats(seed)
    if given.shape in (shape, (size,)) or (size == 1 and given.shape == ()):
        return given.reshape(1, *shape)
    if given.ndim >= 1 and given.shape[1:] in (shape, (size,)) and given.shape[0] > 0:
        return given.reshape(-1, *shape)
    raise TaichiTypeError(
        f"a seed of shape {given.shape} for a parameter of shape {shape}: it has that shape, or "
        f"({size},), or that of several directions, (k, {size})"
    )


def floats(values: Any) -> Array:
    """An array of floats, in their own type where they have one."""
    given = np.asarray(values)
    return given if given.dtype.kind == "f" else given.astype(np.float64)


__all__ = ["FwdMode", "floats"]
