"""Second derivatives: forward mode over reverse mode (Griewank and Walther 2008, §5.4).

Launches run with tangents, and so do their reverses: where the tangents of the parameters are v,
those of the gradients become H v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.ad.checkpoint.snapshot import Snapshot
from mlirad.ad.forward.forward_mode import floats
from mlirad.ad.functions.custom_gradients import nothing
from mlirad.ad.functions.targets import has_twice, listed
from mlirad.ad.tape.tape import Tape
from mlirad.ad.tape.versions import Versions
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.field import Field, dual_kind
from mlirad.lang.kernel import Kernel
from mlirad.lang.ndarray import Ndarray
from mlirad.pipeline.mode import Mode, with_tangents
from mlirad.runtime.program import program
from mlirad.runtime.variant import Variant

Array = np.ndarray[Any, Any]
WIDTH = 8  # rows of a Hessian that are computed at once


def hvp(computation: Callable[[], Any], loss: Field, wrt: Any, v: Any) -> Any:
    """The product of the Hessian of `loss` in `wrt` with `v`.

    `computation` launches the kernels that add up `loss`, a 0-D field, which is set to 0 before.
    `wrt` is a float field and `v` an array of its shape (with the shape of its elements), or both
    are lists. The result has the shape of `v`. Afterwards the gradients of `loss` are in
    `wrt.grad`; all other fields, but for `loss`, are what they were before.

    Raises TaichiTypeError for a `wrt` or a `v` of another type or shape, TaichiRuntimeError where
    the program calls a function with a gradient of its own, or runs in a tape.
    """
    fields, several = _fields(wrt)
    given = list(v) if several else [v]
    if len(given) != len(fields):
        raise TaichiTypeError(f"{len(given)} vectors for {len(fields)} fields")
    directions = [_direction(field, one)[np.newaxis] for field, one in zip(fields, given)]
    found = [rows[0] for rows in _products(computation, loss, fields, directions)]
    return found if several else found[0]


def hessian(computation: Callable[[], Any], loss: Field, wrt: Any) -> Any:
    """The matrix of second derivatives of `loss` in `wrt`, of shape `shape + shape`; see `hvp`.

    For a list of fields, a list of lists: entry (i, j) has the shape of field i and then that of
    field j. The program is run once for every eight elements.
    """
    fields, several = _fields(wrt)
    shapes = [(*field.shape, *field.element_shape) for field in fields]
    sizes = [int(np.prod(shape)) for shape in shapes]
    rows: list[list[Array]] = [[] for _ in fields]
    for first in range(0, sum(sizes), WIDTH):
        count = min(WIDTH, sum(sizes) - first)
        units = np.eye(count, sum(sizes), first)
        parts = np.split(units, np.cumsum(sizes)[:-1], axis=1)
        directions = [one.reshape(count, *shape) for one, shape in zip(parts, shapes)]
        for own, found in zip(rows, _products(computation, loss, fields, directions)):
            own.append(found)
    blocks = [
        [
            part.reshape((*shapes[i], *shapes[j]))
            for i, part in enumerate(np.split(np.concatenate(own), np.cumsum(sizes)[:-1]))
        ]
        for j, own in enumerate(rows)
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
) -> list[Array]:
    """H v for several v, of shape `(k, *shape)` for each field."""
    current = program()
    with current.alone:
        start = Snapshot(current)
        tape = TangentTape(loss, fields, directions)
        with tape:
            computation()
        value = loss.to_numpy()
        start.restore()
        loss.from_numpy(value)
        return tape.products()


class TangentTape(Tape):
    """A tape whose launches, and whose reverses, have tangents: of `fields`, `directions` of shape
    `(k, *shape)`."""

    repeats_steps = False  # snapshots have no tangents

    def __init__(self, loss: Any, fields: Sequence[Field], directions: Sequence[Array]) -> None:
        super().__init__(loss)
        self.fields, self.directions, self.count = fields, directions, len(directions[0])
        self._prepared: dict[
            Variant, int
        ] = {}  # version of duals when a variant was last looked at

    def __enter__(self) -> TangentTape:
        if not isinstance(self.loss, Field) or not self.loss.dtype.is_float:
            raise TaichiTypeError(f"the loss of a Hessian is a 0-D float field, not {self.loss!r}")
        self.program.materialize()
        self._give([field.symbol for field in (*self.fields, self.loss)])
        super().__enter__()
        self.claims.clear(self.program.tangents)
        self.claims.use([field.symbol for field in (*self.fields, self.loss)])
        for field, rows in zip(self.fields, self.directions):
            for number, row in enumerate(rows):
                field.derivative(dual_kind(number)).from_numpy(row)
        return self

    def products(self) -> list[Array]:
        """The tangents of the gradients, for each field of shape `(k, *shape)`."""
        found = [
            [field.derivative(kind).to_numpy() for kind in self._kinds("grad.")]
            for field in self.fields
        ]
        return [rows[0][np.newaxis] if self.count == 1 else np.stack(rows) for rows in found]

    def _kinds(self, before: str = "") -> list[str]:
        return [before + dual_kind(number) for number in range(self.count)]

    def _give(self, symbols: Sequence[str]) -> None:
        """Give fields a gradient, and duals to both."""
        for symbol in symbols:
            for kind in ("grad", *self._kinds(), *self._kinds("grad.")):
                self.program.give_derivative[symbol](kind)
        self.program.materialize()

    @property
    def _primal_mode(self) -> Mode:
        return with_tangents(self.count, is_constant=self.is_replacing)

    @property
    def _reverse_mode(self) -> Mode:
        return with_tangents(self.count, is_reverse=True)

    def _new_versions(self) -> Versions:
        return Versions(self.program, self.rules, self._duals_of)

    def _duals_of(self, key: str | int) -> list[Array]:
        if isinstance(key, int):
            return (
                [one.values for one in self._arrays[key].tangents[: self.count]]
                if key in self._arrays
                else []
            )
        return [
            self.program.fields[name].view for name in self.program.duals.get(key, ())[: self.count]
        ]

    @property
    def _arrays(self) -> dict[int, Ndarray]:
        return {
            buffer.address: buffer.owner
            for entry in self.entries
            for buffer in entry.arrays()
            if isinstance(buffer.owner, Ndarray)
        }

    def launch(
        self, kernel: Kernel, variant: Variant, values: Sequence[Any], buffers: Sequence[Any]
    ) -> Any:
        """Launch a kernel with tangents; what it returns. Raises TaichiRuntimeError where it cannot
        be differentiated so."""
        if self.is_replacing:
            self._give_duals([variant])
        return super().launch(kernel, variant, values, buffers)

    def pieces(self, variant: Variant) -> Sequence[Variant]:
        """The launches of a kernel, whose fields have duals then."""
        found = super().pieces(variant)
        self._give_duals(found)
        return found

    def _give_duals(self, variants: Sequence[Variant]) -> None:
        for variant in variants:
            if self._prepared.get(variant) != self.program.tangent_version:
                self._give(
                    [symbol for symbol in variant.kernel.fields if symbol in self.program.adjoints]
                )
        for variant in variants:
            if self._prepared.get(variant) != self.program.tangent_version:
                variant.refresh()
                self._prepared[variant] = self.program.tangent_version

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
                f"has no "
                "derivative: second derivatives cannot pass through it"
            )
        return super().replaced(function, primal, args, keywords)

    def host_write(self, target: Any, index: tuple[int, ...] | None) -> None:
        """What Python writes is constant: its tangents are 0, and in reverse those of its
        adjoint."""
        super().host_write(target, index)
        primal, adjoint = self._views(target)
        for view in primal:
            view[... if index is None else index] = 0
        if not self.is_replacing:
            entry = self.entries[-1]
            entry.adjoints = [*entry.adjoints, *adjoint]  # type: ignore[attr-defined]

    def _views(self, target: Any) -> tuple[list[Array], list[Array]]:
        """The memory of tangents of an array, and of its adjoint."""
        if isinstance(target, Ndarray):
            adjoint = target.grad if target.grad is not None else self.arrays.hidden_of(target)
            return [one.values for one in target.tangents], [] if adjoint is None else [
                one.values for one in adjoint.tangents
            ]
        return self._duals_of(target.symbol), self._duals_of(
            self.program.adjoints.get(target.symbol, "")
        )

    def host_copy(self, target: Field, source: Field) -> None:
        """Tangents are copied too, and in reverse those of adjoints."""
        if self.note_copy(target, source):
            self._give([target.symbol, source.symbol])
        super().host_copy(target, source)
        if (
            self.is_replacing
            or source.symbol not in self.program.duals
            or target.symbol not in self.program.duals
        ):
            return
        for kind in self._kinds():
            target.derivative(kind).from_numpy(source.derivative(kind).to_numpy())
        self.entries[-1].kinds = ("grad", *self._kinds("grad."))  # type: ignore[attr-defined]


def _fields(wrt: Any) -> tuple[list[Field], bool]:
    fields, several = listed(wrt)
    for field in fields:
        if not isinstance(field, Field) or not field.dtype.is_float or field.primal is not None:
            raise TaichiTypeError(f"derivatives are taken in float fields, not in {field!r}")
    if has_twice(fields):
        raise TaichiTypeError("derivatives are taken in a field once: it is in the list twice")
    return fields, several


def _direction(field: Field, v: Any) -> Array:
    values, shape = floats(v), (*field.shape, *field.element_shape)
    if values.shape != shape:
        raise TaichiTypeError(
            f"a vector of shape {values.shape} for field '{field.symbol}' of shape {shape}"
        )
    return values


__all__ = ["hessian", "hvp"]
