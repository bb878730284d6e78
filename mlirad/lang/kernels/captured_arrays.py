"""Ndarrays that kernels use without having them as arguments: where each launch finds them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from mlirad.frontend.python.building.builder import Builder
from mlirad.frontend.python.building.captures import Capture, chain
from mlirad.frontend.python.values.annotations import NdarrayType
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.arguments.arrays import describe_array
from mlirad.lang.arguments.constants import constant_key, same_object
from mlirad.lang.arguments.parameters import NDARRAY, Parameter
from mlirad.lang.ndarray import Ndarray

# of classes whose numbers are looked up at each launch
FOLLOWS = "follows_numbers"


class CapturedArrays:
    """By what decides about a launch's arguments, where the ndarrays are found that such launches
    use, and the objects that these are found by."""

    def __init__(self) -> None:
        self._captures: dict[Hashable, dict[str, Capture]] = {}
        self._names: dict[Hashable, str] = {}
        self._homes: dict[tuple[int, str], object] = {}  # what is looked up, and who has it

    def __bool__(self) -> bool:
        return bool(self._captures)

    def of(self, call: Hashable) -> Mapping[str, Capture]:
        """Return the captures that launches with some arguments look up, by name."""
        return self._captures.get(call, {})

    def start(self, builder: Builder, passed: Iterable[tuple[str, Any]]) -> None:
        """Tell a builder of the names that captured ndarrays have, and which are arguments."""
        builder.capture_names = self._names
        builder.passed = {id(value): name for name, value in passed}

    def add(self, call: Hashable, builder: Builder) -> None:
        """Note what a kernel has captured that was built for launches with some arguments."""
        captures = self._captures.setdefault(call, {})
        passed = [(value, "an array") for value in builder.passed_captures.values()]
        for value, name in (*builder.captured.values(), *passed):
            for capture in builder.reads.captures(value) or [Capture(name, value)]:
                for step in chain(capture):
                    self._follow(captures, builder, step)
        for owner, name, value in builder.attributes:
            if isinstance(value, bool | int | float):
                for capture in builder.reads.captures_of(owner, name):
                    steps = [*chain(capture)]
                    if any(getattr(type(step.present_home), FOLLOWS, False) for step in steps):
                        for step in steps:
                            self._follow(captures, builder, step)
        if not captures:
            del self._captures[call]

    def _follow(self, captures: dict[str, Capture], builder: Builder, step: Capture) -> None:
        captures.setdefault(builder.capture_name(step), step)
        self._homes[id(step.home), step.attribute] = step.home

    def follows(self, home: object, name: str) -> bool:
        """Return whether launches look up what an attribute, or a name, stands for."""
        return (id(home), name) in self._homes


def look_up(
    captures: Mapping[str, Capture],
) -> tuple[dict[str, Hashable], dict[str, ArrayBuffer]]:
    """Return the present values of captures: of ndarrays their forms and buffers, of other objects
    their identities."""
    forms: dict[str, Hashable] = {}
    arrays: dict[str, ArrayBuffer] = {}
    for name, capture in captures.items():
        value = capture.now()
        if isinstance(value, Ndarray):
            forms[name] = describe_array(value, Parameter(name, NDARRAY, NdarrayType()))
            arrays[name] = array_buffer(value, name, True)
        else:
            key = constant_key(value)
            forms[name] = same_object(value) if key is None else key
    return forms, arrays
