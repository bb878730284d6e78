"""Programs run by mlirad, compared with the reference."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import mlirad as ti
from mlirad.runtime.memory.sparse import touched
from mlirad.runtime.program import program as current_program
from programs.load import load
from programs.meeting.dual import LARGE, Dual, UnclearError, primal
from programs.meeting.reference import run
from programs.meeting.reference_memory import Field, Memory, Structs

CLOSE = 1e-8
STEEP = 1e4  # derivatives that make more of a rounding than `CLOSE`, in second ones
Array = np.ndarray[Any, Any]
Find = Callable[[Any], Any]


class WrongError(Exception):
    """A number that is not the reference's."""


class Expected:
    """What a program leaves, by the reference: values, the loss's gradient, and all derivatives
    along some directions."""

    def __init__(self, source: str, is_nested: bool) -> None:
        self.names = run(source)
        self.memories = dict(_memories(self.names))
        self.names["prepare"]()
        kind = Field if is_nested else Memory
        self.graded = [
            name
            for name, memory in self.memories.items()
            if isinstance(memory, kind) and memory.graded and name != "loss"
        ]
        self._seed(is_nested)
        self.names["program"]()
        self.values = {name: _values(memory) for name, memory in self.memories.items()}
        largest = max(np.abs(values).max(initial=0) for values in self.values.values())
        if not largest < LARGE:
            raise UnclearError("large numbers")
        if not max(map(self._steepest, self.memories.values())) < STEEP:
            raise UnclearError("numbers that rounding decides")

    def _seed(self, is_nested: bool) -> None:
        data = {name: _data(m) for name, m in self.memories.items() if _is_float(m)}
        size, first = sum(array.size for array in data.values()), 0
        units = np.eye(size)
        self.directions = np.random.default_rng(5).uniform(-1, 1, size)
        self.ranges: dict[str, tuple[int, int]] = {}
        for name, array in data.items():
            last = first + array.size
            numbers = []
            for k, value in zip(range(first, last), array.flat):
                number = Dual(float(value), units[k])
                along = float(self.directions[k]) if name in self.graded else 0.0
                numbers.append(Dual(number, along) if is_nested else number)
            for place, number in zip(np.ndindex(array.shape), numbers):
                array[place] = number
            self.ranges[name] = first, last
            first = last
        self.size, self.is_nested = size, is_nested

    def _steepest(self, memory: Any) -> float:
        """The largest derivative of what a memory holds."""
        if not _is_float(memory):
            return 0.0
        found = [np.abs(self._gradient_of(number)).max() for number in _data(memory).flat]
        return max(found, default=0.0)

    def direction(self, name: str) -> Array:
        """The part of the direction that is of one memory."""
        return self.part(name, self.directions)

    def part(self, name: str, gradient: Array) -> Array:
        first, last = self.ranges[name]
        return gradient[first:last].reshape(_data(self.memories[name]).shape)

    def gradient(self) -> Array:
        """The derivative of the loss in all that memory held."""
        loss = self.memories["loss"].data[()]
        inner = loss.value if self.is_nested and isinstance(loss, Dual) else loss
        return inner.tangent if isinstance(inner, Dual) else np.zeros(self.size)

    def curvature(self) -> Array:
        """The derivative of the gradient along the direction."""
        loss = self.memories["loss"].data[()]
        tangent = loss.tangent if isinstance(loss, Dual) else 0.0
        return tangent.tangent if isinstance(tangent, Dual) else np.zeros(self.size)

    def tangents(self, name: str, directions: Array) -> Array:
        """The derivatives of a memory's elements along a direction of all parameters."""
        direction = np.zeros(self.size)
        for parameter in self.graded:
            first, last = self.ranges[parameter]
            direction[first:last] = directions[first:last]
        data = _data(self.memories[name])
        found = [self._gradient_of(x) @ direction for x in data.flat]
        return np.array(found, float).reshape(data.shape)

    def _gradient_of(self, number: Any) -> Array:
        inner = number.value if self.is_nested and isinstance(number, Dual) else number
        return inner.tangent if isinstance(inner, Dual) else np.zeros(self.size)


def _memories(names: dict[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, memory in names.items():
        if isinstance(memory, Structs):
            found += [(f"{name}.{member}", field) for member, field in memory.members.items()]
        elif isinstance(memory, Memory) or (isinstance(memory, np.ndarray) and memory.base is None):
            found.append((name, memory))
    return found


def _data(memory: Any) -> Array:
    return memory if isinstance(memory, np.ndarray) else memory.data


def _is_float(memory: Any) -> bool:
    return isinstance(memory, np.ndarray) or memory.is_float


def _values(memory: Any) -> Array:
    if isinstance(memory, np.ndarray):
        return np.array([primal(x) for x in memory.flat], float).reshape(memory.shape)
    return memory.to_numpy()


class Machine:
    """A program as mlirad runs it."""

    def __init__(self, source: str, folder: Path, seed: int) -> None:
        options: dict[str, Any] = {"default_fp": ti.f64, "offline_cache": False}
        options["cpu_max_num_threads"] = 1 + seed % 4 // 3
        options["opt_level"] = 0 if seed % 8 else 3
        ti.init(**options, **({"lanes": 1} if seed % 4 else {}))
        current_program().config.thread_worth = 0
        touched.WHOLE, touched.PAGE = (1 << 14, 4096) if seed % 3 else (0, 16)
        self.module: ModuleType = load(source, folder)

    def at(self, name: str) -> Any:
        return operator.attrgetter(name)(self.module)

    def values(self, name: str) -> Array:
        memory = self.at(name)
        return memory if isinstance(memory, np.ndarray) else memory.to_numpy()


def _compare(what: str, found: Array, expected: Array) -> None:
    scale = np.abs(expected).max(initial=0) + 1e-3
    difference = np.abs(found - expected).max(initial=0)
    if not difference <= CLOSE * scale:
        raise WrongError(f"{what}: {_shown(found)} for {_shown(expected)}")


def _shown(values: Array) -> str:
    return np.array2string(np.asarray(values, float), precision=6, max_line_width=10**6).replace(
        "\n", ""
    )


class Check:
    """One program in its modes."""

    def __init__(self, expected: Expected, machine: Machine) -> None:
        self.expected, self.machine = expected, machine

    def run(self) -> None:
        """Raise `WrongError`, or whatever mlirad raises."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for mode in self.machine.module.MODES:
                self.machine.module.prepare()
                kind, *part = mode.split()
                getattr(self, f"_{kind}")(*map(float, part))

    def _hold(self, mode: str) -> None:
        for name, values in self.expected.values.items():
            _compare(f"{mode}: {name}", self.machine.values(name), values)
            memory = self.expected.memories[name]
            if isinstance(memory, Field):
                self._hold_activity(mode, name, memory)

    def _hold_activity(self, mode: str, name: str, memory: Field) -> None:
        field = self.machine.at(name)
        sparse = [block for block in memory.block.path() if block.kind not in ("root", "dense")]
        activities = field.find_memory().layout.activities if sparse else ()
        for block, activity in zip(sparse, activities, strict=True):
            held = current_program().fields[activity.field].elements.read()
            held = held.reshape(block.activity.shape)
            found = held if block.kind != "pointer" else (held == 1).astype(int)
            _compare(f"{mode}: activity of {name}, {block.kind}", found, block.activity)

    def _run(self) -> None:
        self.machine.module.program()
        self._hold("run")

    def _tape(self, memory: float = 1.0) -> None:
        module = self.machine.module
        try:
            with ti.ad.Tape(module.loss, **({} if memory == 1.0 else {"memory": memory})):
                module.program()
        except ti.TaichiMemoryError as error:
            module.prepare()
            with ti.ad.Tape(module.loss, memory=int(str(error).split("memory=")[2].split()[0])):
                module.program()
        self._hold("tape")
        self._hold_gradients("tape")

    def _hold_gradients(self, mode: str) -> None:
        gradient = self.expected.gradient()
        for name in self.expected.graded:
            found = self.machine.at(name).grad.to_numpy()
            _compare(f"{mode}: {name}.grad", found, self.expected.part(name, gradient))

    def _forward(self, count: float) -> None:
        expected, memories = self.expected, self.expected.memories
        floats = [
            name
            for name, memory in memories.items()
            if isinstance(memory, Memory) and memory.is_float
            if isinstance(memory, Field) or memory.graded
        ]
        losses = [self.machine.at(name) for name in floats]
        factors = [1.0, -0.5][: int(count)]
        seeds = [
            np.stack([factor * expected.direction(name) for factor in factors])
            for name in expected.graded
        ]
        parameters = [self.machine.at(name) for name in expected.graded]
        with ti.ad.FwdMode(losses, parameters, seeds) as forward:
            self.machine.module.program()
        self._hold("forward")
        for name, loss in zip(floats, losses):
            found = forward.tangents(loss) if count > 1 else [loss.dual.to_numpy()]
            wanted = expected.tangents(name, expected.directions)
            for one, factor in zip(found, factors):
                _compare(f"forward: {name}.dual", one, factor * wanted)

    def _hvp(self) -> None:
        graded = self.expected.graded
        wrt = [self.machine.at(name) for name in graded]
        vectors = [self.expected.direction(name) for name in graded]
        kept = {name: np.array(self.machine.values(name)) for name in self.expected.values}
        for turn in ("first", "second"):
            products = ti.ad.hvp(
                self.machine.module.program, self.machine.module.loss, wrt, vectors
            )
            for name, found in zip(graded, products):
                expected = self._curvature(graded, name)
                _compare(f"hvp, {turn}: {name}", np.asarray(found), expected)
            for name, values in kept.items():
                if name != "loss":
                    _compare(f"hvp, {turn}: {name} afterwards", self.machine.values(name), values)
            self._hold_gradients(f"hvp, {turn}")

    def _curvature(self, graded: Sequence[str], name: str) -> Array:
        return self.expected.part(name, self.expected.curvature())


def _modes(source: str) -> list[str]:
    line = next(line for line in source.splitlines() if line.startswith("MODES"))
    modes = eval(line.split("=", 1)[1])
    return [mode.split()[0] for mode in modes]


class Outcome(NamedTuple):
    """`right`, `unclear`, `refused`, `wrong`, or `invalid` (no program), and why."""

    kind: str
    message: str = ""

    @property
    def family(self) -> str:
        """What stays the same as a program is made smaller."""
        what = re.match(r"(\w+)[^:]*: ?(\S*)", self.message)
        if what is None:
            return self.kind
        mode, name = what.groups()
        return f"{self.kind} {mode} {name.rpartition('.')[2] if '.' in name else ''}"


def outcome(source: str, folder: Path, seed: int) -> Outcome:
    """Check one program."""
    try:
        expected = Expected(source, "hvp" in _modes(source))
    except UnclearError as error:
        return Outcome("unclear", str(error))
    except Exception as error:
        return Outcome("invalid", f"{type(error).__name__}: {error}")
    try:
        Check(expected, Machine(source, folder, seed)).run()
    except WrongError as error:
        return Outcome("wrong", str(error))
    except (ti.TaichiCompilationError, ti.TaichiRuntimeError) as error:
        return Outcome("refused", str(error))
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {error}")
    return Outcome("right")
