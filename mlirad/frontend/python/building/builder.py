"""The kernel under construction: default types, its entry block, and one-line op creation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import get_ident
from typing import Any

import msgspec

from mlirad.bindings import ir
from mlirad.errors import SourceLocation, TaichiRuntimeError, TaichiTypeError
from mlirad.frontend.python.building.captures import Capture, Reads
from mlirad.frontend.python.building.open_regions import Region, user_place
from mlirad.ir import build
from mlirad.ir.ops import Arith
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.types import DataType, f32, i32, i64


class Builder:
    """State of one kernel under construction."""

    def __init__(
        self, default_fp: DataType = f32, default_ip: DataType = i32, debug: bool = False
    ) -> None:
        self.default_fp = default_fp
        self.default_ip = default_ip
        self.debug = debug
        self.entry: ir.Block | None = None
        self.root = self.region = Region("kernel")
        self.arrays: dict[str, ir.Value] = {}
        self.emptied: dict[str, None] = {}  # fields that become 0 in cells that are deactivated
        self.stopped: list[ir.Value] = []  # arrays whose loads carry no derivative here
        self.is_constant = False  # whether no load carries one (in a function with `no_grad`)
        self.launch_seed: ir.Value | None = None
        # The function with derivatives of its own that is being translated.
        self.custom: str | None = None
        # Attributes of the program's objects: object, name, value.
        self.attributes: list[tuple[Any, str, Any]] = []
        # Names from outside of functions: the cell or the dictionary that holds one, name, value.
        self.names: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.reads = Reads()  # both of these, by value
        # Arrays that are no arguments, with the names that they have as hidden ones, and the names
        # of those that are arguments, by identity.
        self.captured: dict[int, tuple[Any, str]] = {}
        self.passed: dict[int, str] = {}
        # of arguments, those that the kernel has found in another way too
        self.passed_captures: dict[int, Any] = {}
        self.capture_names: dict[Hashable, str] = {}  # by where they are found
        self.capture: Callable[[Any, NdarrayArgument], Any]
        self.warned: set[tuple[str, int]] = set()  # files and lines
        self.streams: list[tuple[ir.Value, Callable[[], ir.Value]]] = []
        self.blocks: list[int] = []  # of the parallel loops around: the threads of a block
        self.is_graph = False  # it may have the parts of a graph, of which these are around:
        self.sections: list[str] = []
        self.do_whiles = 0
        self.calls: list[tuple[str, SourceLocation]] = []  # of the functions that are translated
        self.gate: Any = None  # of a kernel whose launches pause: whether what follows runs
        self.thread = get_ident()
        self.static_arguments = 0  # `ti.static(...)` around what is translated

    def note_name(self, home: Any, name: str, value: object) -> None:
        """Note what a name from outside of functions stands for, and the cell or the dictionary
        that holds it."""
        self.names.setdefault((id(home), name), (home, name, value))
        self.reads.note(home, name, value)

    def note_attribute(self, owner: Any, name: str, value: object) -> None:
        """Note what an attribute of one of the program's objects is."""
        self.attributes.append((owner, name, value))
        self.reads.note(owner, name, value)

    def capture_name(self, capture: Capture) -> str:
        """The name of what is found at a place, which differs from those of other places."""
        name = self.capture_names.get(capture.key)
        if name is None:
            name, names = capture.name, {*self.capture_names.values(), *self.passed.values()}
            while name in names:
                name += "'"
            self.capture_names[capture.key] = name
        return name

    @contextmanager
    def literals_as(self, dtype: DataType) -> Iterator[None]:
        """Give floats that Python writes out another type than the default one."""
        outer, self.default_fp = self.default_fp, dtype
        try:
            yield
        finally:
            self.default_fp = outer

    def at_entry(self) -> ir.InsertionPoint:
        """The start of the kernel, which dominates everything in it."""
        assert self.entry is not None
        return ir.InsertionPoint.at_block_begin(self.entry)

    @contextmanager
    def enter_block(self, kind: str, *, is_tail: bool = False) -> Iterator[Region]:
        """Open a block inside the present one, and shut it afterwards."""
        outer = self.region
        self.region = Region(kind, ir.Location.current, outer, is_tail=is_tail)
        try:
            yield self.region
        finally:
            self.region.shut = f"was created in {kind} and is used outside it: {_CARRIED}"
            self.region = outer

    @contextmanager
    def enter_isolated(self, function: str) -> Iterator[None]:
        """Open a block that sees nothing of those around it."""
        with (
            self.region.shut_as(
                f"was made outside '{function}', which has its own derivatives and may only use "
                "its arguments: pass it as an argument"
            ),
            self.enter_block(f"'{function}'"),
        ):
            yield

    def finish(self, name: str) -> None:
        """End the kernel: nothing that was made in it can be used in another one."""
        self.root.shut = (
            f"belongs to kernel '{name}', which is already compiled: use a field or an argument "
            "to pass values between kernels"
        )

    def warn(self, message: str) -> None:
        """Warn of the line that is translated, once; Python shows it below the message."""
        place = user_place(ir.Location.current)
        assert place is not None
        if (place.file, place.line) not in self.warned:
            self.warned.add((place.file, place.line))
            warnings.warn_explicit(message, UserWarning, place.file, place.line)

    def seed(self) -> ir.Value:
        """The launch's seed of random numbers, a hidden last argument of the kernel."""
        assert self.entry is not None
        if self.launch_seed is None:
            self.launch_seed = self.entry.add_argument(mlir_type(i64), ir.Location.current)
        return self.launch_seed

    @contextmanager
    def stream(self, iteration: Callable[[], ir.Value]) -> Iterator[None]:
        """Number the random draws of one iteration, or of the serial part of a kernel, from 0."""
        slot = build.slot(mlir_type(i64))
        build.write(constant(0, i64), slot)
        self.streams.append((slot, iteration))
        try:
            yield
        finally:
            self.streams.pop()

    @contextmanager
    def threads(self, block_size: int) -> Iterator[None]:
        """Have iterations be those of a parallel loop in blocks of so many threads."""
        self.blocks.append(block_size)
        try:
            yield
        finally:
            self.blocks.pop()

    def iteration(self) -> ir.Value:
        """The number of the iteration of the parallel loop around."""
        return self.streams[-1][1]()

    def next_draw(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The counters of the next draw: launch, iteration, number within the iteration."""
        slot, iteration = self.streams[-1]
        draw = build.read(slot)
        build.write(build.add(draw, constant(1, i64)), slot)
        return self.seed(), iteration(), draw


class Anchor(msgspec.Struct, frozen=True):
    """An op that later code is added in front of, and how deep it stands in run-time regions."""

    op: ir.Operation
    region: Region
    depth: int

    @contextmanager
    def inserting(self) -> Iterator[None]:
        """Insert in front of the op: what is made there belongs to its block."""
        builder = current()
        inner, builder.region = builder.region, self.region
        try:
            with ir.InsertionPoint(self.op):
                yield
        finally:
            builder.region = inner


_CARRIED = "use a variable that is assigned before it, or a field"
being_built: list[Builder] = []  # of all threads


@contextmanager
def building(builder: Builder) -> Iterator[Builder]:
    """Make a builder the current one."""
    being_built.append(builder)
    try:
        yield builder
    finally:
        being_built.pop()


def current() -> Builder:
    """The kernel under construction. Raises TaichiRuntimeError outside one."""
    if not in_kernel():
        raise TaichiRuntimeError("this can only be used inside a @ti.kernel or @ti.func")
    return being_built[-1]


def in_kernel() -> bool:
    """Return whether this thread has a kernel under construction; only one thread at a time has."""
    thread = get_ident()
    return thread in [builder.thread for builder in being_built]


def refuse_in_kernel(change: str, cure: str) -> None:
    """Raise TaichiTypeError for a change of memory by Python while a kernel is compiled: it happens
    once, and not in its launches. `ti.static(...)` says that it should."""
    if in_kernel() and not current().static_arguments:
        raise TaichiTypeError(
            f"{change} by Python here, once, while the kernel is compiled: {cure}; use "
            "ti.static(...) if once is what you want"
        )


@lru_cache(maxsize=64)
def mlir_type(dtype: DataType) -> ir.Type:
    """The MLIR type of a scalar type."""
    return ir.Type.parse(dtype.mlir)


def constant(value: bool | int | float, dtype: DataType) -> ir.Value:
    """An `arith.constant` of a scalar type."""
    type_ = mlir_type(dtype)
    if dtype.is_float:
        return build.make(Arith.CONSTANT, type_, [], value=ir.FloatAttr.get(type_, float(value)))
    bits = int(value) & ((1 << dtype.bits) - 1)
    signed = bits - (1 << dtype.bits) if dtype.bits > 1 and bits >> (dtype.bits - 1) else bits
    return build.make(
        Arith.CONSTANT,
        type_,
        [],
        value=ir.IntegerAttr.get(type_, -signed if dtype.bits == 1 else signed),
    )
