"""Launches with the objects of an earlier one: packs and templates are looked at for what they
hold, and not taken apart again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from typing import Any

from mlirad.frontend.python.building.builder import being_built, in_kernel
from mlirad.frontend.python.building.captures import Capture
from mlirad.kernel.module import KernelModule
from mlirad.lang.arguments.constants import constant_key
from mlirad.lang.arguments.numbers import plain_range, scalar_dtype
from mlirad.lang.arguments.packs import ViewPack, unpack
from mlirad.lang.arguments.parameters import (
    COMPOSITE,
    EITHER,
    NDARRAY,
    PACK,
    SCALAR,
    TEMPLATE,
    Parameter,
)
from mlirad.lang.kernels.kernel_declaration import KernelDeclaration
from mlirad.lang.kernels.kernel_variants import KernelVariants
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.executor.executor import LastingArrays
from mlirad.runtime.program import Program

_MOST = 4  # launches that a kernel remembers
_TRIES = 16  # to remember one
_IMMUTABLE = (bool, int, float, str, bytes, type(None))


class _Contents:
    """The members that dataclasses had at an earlier launch."""

    def __init__(self, packs: Iterable[Any]) -> None:
        members = [(vars(pack), [*vars(pack).values()], pack) for pack in packs]
        self._frozen = [(space, values) for space, values, pack in members if _is_frozen(pack)]
        self._open = [(pack, values) for _, values, pack in members if not _is_frozen(pack)]

    def are_there(self) -> bool:
        """Return whether the dataclasses hold them still.

        Members of frozen ones are compared as lists, which takes a third of the time. It would miss
        a member that `object.__setattr__` replaced by an equal one.
        """
        for space, values in self._frozen:
            if [*space.values()] != values:
                return False
        for pack, values in self._open:
            present = vars(pack).values()
            if len(present) != len(values) or not all(map(is_, present, values)):
                return False
        return True


def _is_frozen(pack: Any) -> bool:
    return bool(type(pack).__dataclass_params__.frozen)


class Repeated:
    """A launch to be done again, with other numbers, where all other arguments are the objects that
    they were, and hold what they held."""

    def __init__(
        self,
        launch: Launch,
        arguments: Sequence[tuple[Parameter, Any]],
        slots: dict[str, int],
        are_bound: Callable[[], bool],
        captures: Sequence[Capture],
    ) -> None:
        self._variant, self._are_bound = launch.variant, are_bound
        self.program, self.kernel = launch.variant.program, launch.variant.kernel
        code = launch.variant.unrecorded.code()
        assert code is not None
        self._code = code
        self._values = list(launch.values)
        self._arrays = LastingArrays(array.owner.passed for array in launch.arrays)
        self._objects = [(k, v) for k, (p, v) in enumerate(arguments) if p.kind != SCALAR]
        packs = {id(pack): pack for p, v in arguments if p.kind == PACK for pack in _packs(v)}
        self._contents, self._count = _Contents(packs.values()), len(arguments)
        self._captured = [(capture, capture.now()) for capture in captures]
        config = self.program.config
        self._ranges = [
            (k, slots[p.name], *plain_range(scalar_dtype(p, config)))
            for k, (p, _) in enumerate(arguments)
            if p.kind == SCALAR
        ]

    def launch(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """Launch, and return the results; None if it is another launch that these ask for."""
        if len(arguments) != self._count or not self._are_bound() or (being_built and in_kernel()):
            return None
        for number, value in self._objects:
            if arguments[number] is not value:
                return None
        values = self._values.copy()
        for number, slot, kind, low, high in self._ranges:
            value = arguments[number]
            if type(value) is not kind or not low <= value < high:  # type: ignore[operator]
                return None
            values[slot] = value
        if not self._contents.are_there():
            return None
        for capture, value in self._captured:
            if capture.now() is not value:
                return None
        self._variant.launched_at = self.program.threads.count_change()
        return self._code.launch(values, self._arrays)


class Repeats:
    """The launches of a kernel that it may be asked for again, the last ones."""

    def __init__(self, declaration: KernelDeclaration) -> None:
        self._declaration = declaration
        self._launches: list[tuple[tuple[str, ...], Repeated]] = []
        self._tries = 0  # since there was nothing to be done again

    def forget(self) -> None:
        """Have launches look at all their arguments."""
        self._launches, self._tries = [], 0

    def launch(
        self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[KernelModule, tuple[Any, ...]] | None:
        """Launch as before, the kernel and its results; None if no launch before was like this."""
        if not self._launches or current.trees.pending or current.threads.watchers:
            return None
        names, arguments = tuple(kwargs), (*args, *kwargs.values())
        for keywords, repeated in self._launches:
            if keywords == names and repeated.program is current:
                results = repeated.launch(arguments)
                if results is not None:
                    return repeated.kernel, results
        return None

    def add(
        self,
        launch: Launch,
        variants: KernelVariants,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> bool:
        """Remember a launch, if it can be done again; whether it is."""
        if self._tries > _TRIES:
            return False
        self._tries += 1
        owner = self._declaration.owner
        parameters = self._declaration.in_packs[owner is not None :]
        by_name = {p.name: p for p in parameters}
        called = [*parameters[: len(args)], *map(by_name.__getitem__, kwargs)]
        arguments = [*zip(called, (*args, *kwargs.values()))]
        if not _can_be_repeated(launch, arguments, self._declaration.parameters):
            return False
        left_out = variants.left_out(launch, args, kwargs)
        slots: dict[str, int] = {}
        for p in self._declaration.parameters:
            if p.kind == SCALAR or (p.kind == NDARRAY and p.name not in left_out):
                slots[p.name] = len(slots)
        for array in launch.arrays:
            array.owner.is_repeated = True
        captures = variants.captures(args, kwargs) if variants.captured else ()
        repeated = Repeated(launch, arguments, slots, variants.names.are_bound, captures)
        self._launches = [(tuple(kwargs), repeated), *self._launches[: _MOST - 1]]
        return True


def _can_be_repeated(
    launch: Launch, arguments: Sequence[tuple[Parameter, Any]], parameters: Sequence[Parameter]
) -> bool:
    kernel, code = launch.variant.kernel, launch.variant.unrecorded.code()
    if kernel.uses_seed or kernel.gradients or kernel.emptied:
        return False
    if code is None or code.messages:
        return False
    return (
        all(p.kind not in (COMPOSITE, EITHER) for p in parameters)
        and all(type(array.owner) is Ndarray for array in launch.arrays)
        and all(_stays(p, v) for p, v in arguments)
    )


def _stays(param: Parameter, value: Any) -> bool:
    """Return whether an argument, if it is the same object, is what it was."""
    if param.kind == SCALAR:
        return True
    if param.kind == NDARRAY:
        return type(value) is Ndarray
    if param.kind == TEMPLATE:
        return isinstance(value, _IMMUTABLE) or constant_key(value) is None
    is_view = isinstance(param.annotation, ViewPack)  # which cannot be changed
    if not is_view and not (
        dataclasses.is_dataclass(value) and all(hasattr(pack, "__dict__") for pack in _packs(value))
    ):
        return False
    return all(
        type(entry) is Ndarray or isinstance(entry, _IMMUTABLE) or constant_key(entry) is None
        for entry in unpack(value, param.annotation, param.name)
    )


def _packs(value: Any) -> Iterator[Any]:
    """A dataclass, and those in it; none in a view."""
    if not dataclasses.is_dataclass(value):
        return
    yield value
    for field in dataclasses.fields(value):
        member = getattr(value, field.name)
        if dataclasses.is_dataclass(member) and not isinstance(member, type):
            yield from _packs(member)


__all__ = ["Repeats"]
