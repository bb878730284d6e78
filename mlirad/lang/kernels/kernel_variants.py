"""The variants of a kernel in one program, found by the arguments of a launch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType
from typing import Any

import msgspec

from mlirad.dialect import context
from mlirad.dialect.turn import in_turn
from mlirad.frontend.python.building.builder import Builder
from mlirad.frontend.python.building.captures import Capture
from mlirad.frontend.python.kernel import build_kernel
from mlirad.frontend.python.source.function import Function
from mlirad.kernel.arguments import ConstantArgument, SameArgument
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.arguments.choice import frontend_argument, key_of
from mlirad.lang.arguments.overlaps import same_arrays, with_gradients
from mlirad.lang.arguments.parameters import COMPOSITE, NDARRAY, SCALAR, Parameter, chosen
from mlirad.lang.arguments.values import value_entries
from mlirad.lang.callers import program_frame
from mlirad.lang.host.array_protocols import AsArray, short_text
from mlirad.lang.kernels.captured_arrays import CapturedArrays, look_up
from mlirad.lang.kernels.kernel_declaration import KernelDeclaration
from mlirad.lang.kernels.launch import Launch, LaunchedKernel
from mlirad.lang.kernels.ready import Ready, ready
from mlirad.lang.kernels.watched import Name, Names, Read, watch
from mlirad.runtime.kernels.kernel_ir import declare_trees
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program


class PassedArrays(msgspec.Struct, frozen=True):
    """The arrays of a launch by name, which of them are the same, and the key of its code."""

    key: Hashable
    arrays: Mapping[str, ArrayBuffer]
    same: Mapping[str, str]


class KernelVariants:
    """Compiled for each choice of argument types, and of values that are part of the code.

    `note_change` is called where an attribute that is part of compiled code was assigned to. A
    thread that came from the last program never puts a variant here.
    """

    def __init__(
        self, declaration: KernelDeclaration, program: Program, note_change: Callable[[], None]
    ) -> None:
        self.declaration, self.program, self._notify = declaration, program, note_change
        self._by_key: dict[Hashable, Variant] = {}
        # attributes that are part of compiled code, by object and name
        self._reads: dict[tuple[int, str], Read] = {}
        self._changed: set[tuple[int, str]] = set()  # those that have other values now
        self._told: set[tuple[int, str]] = set()  # those of which the user was told
        self.names = Names(declaration.function)
        self.captured = CapturedArrays()

    @property
    def by_key(self) -> Mapping[Hashable, Variant]:
        """Return the variants by what they were compiled for."""
        return self._by_key

    def prepare(
        self, kernel: LaunchedKernel, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Launch:
        """The launch of the kernel for some arguments; see `Kernel.prepare`."""
        arguments, config = self.declaration.bind(args, kwargs), self.program.config
        parameters = chosen(self.declaration.parameters, arguments)
        forms = _forms(parameters, arguments)
        arrays = {
            p.name: array_buffer(v, p.name, True)
            for p, v in zip(parameters, arguments)
            if p.kind == NDARRAY
        }
        passed = self._passed(forms, arrays)
        variant = self._by_key.get(passed.key)
        if variant is None or variant.codes.is_stale:
            variant, passed = self._find(arguments, forms, arrays)
        if self._changed:
            self._warn_of_changes()
        if not self.names.are_bound():
            self._warn_of_names()
        kernel_module = variant.kernel
        left_out = {*passed.same, *kernel_module.unused}
        values: list[Any] = []
        for p, v in zip(parameters, arguments):
            if p.kind in (SCALAR, COMPOSITE):
                values += value_entries(v, p.annotation, config, p.name)
            elif p.name in arrays and p.name not in left_out:
                values += [None] * (2 if p.name in kernel_module.gradients else 1)
        for name in kernel_module.captured:
            values += [None] * (2 if name in kernel_module.gradients else 1)
        buffers = [*arrays, *kernel_module.captured]
        passed_buffers = {name: passed.arrays[name] for name in buffers if name not in left_out}
        return Launch(
            kernel, variant, values, with_gradients(passed_buffers, kernel_module.gradients)
        )

    def _passed(self, forms: dict[str, Hashable], arrays: dict[str, ArrayBuffer]) -> PassedArrays:
        """The arrays that a launch passes, captured ones too, and what decides about its code."""
        key = call = tuple(forms.values())
        if captures := self.captured.of(call):
            captured_forms, captured_arrays = look_up(captures)
            key = (*call, *captured_forms.items())
            forms, arrays = forms | captured_forms, arrays | captured_arrays
        same = same_arrays(arrays, forms) if len(arrays) > 1 else {}
        return PassedArrays((*key, *same.items()) if same else key, arrays, same)

    def ready(self, variant: Variant, args: tuple[Any, ...]) -> Ready | None:
        """Return the recipe of launches like one of a variant, if they need no more than
        `Ready`."""
        if self.captured:  # which each launch looks up
            return None
        parameters = self.declaration.parameters[self.declaration.owner is not None :]
        if any(code.messages for code in list(variant.codes.compiled.values())):
            return None
        compiled = variant.unrecorded.code()
        return ready(variant, compiled, parameters, args, self.names.are_bound)

    def captures(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Capture]:
        """Return what launches with some arguments look up."""
        arguments = self.declaration.bind(args, kwargs)
        parameters = chosen(self.declaration.parameters, arguments)
        call = tuple(_forms(parameters, arguments).values())
        return [*self.captured.of(call).values()]

    def left_out(self, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[str]:
        """The parameters of arrays for which a launch passes none."""
        arguments = zip(self.declaration.parameters, self.declaration.bind(args, kwargs))
        arrays = {p.name: (p, v) for p, v in arguments if p.kind == NDARRAY}
        buffers = {name: array_buffer(v, name, True) for name, (_, v) in arrays.items()}
        forms = {name: key_of(p, v) for name, (p, v) in arrays.items()}
        return {*same_arrays(buffers, forms), *launch.variant.kernel.unused}

    @in_turn
    def _find(
        self, values: Sequence[Any], forms: dict[str, Hashable], arrays: dict[str, ArrayBuffer]
    ) -> tuple[Variant, PassedArrays]:
        passed = self._passed(forms, arrays)
        variant = self._by_key.get(passed.key)
        if variant is None or variant.codes.is_stale:
            variant = self._build(values, passed.same, tuple(forms.values()))
            passed = self._passed(forms, arrays)  # with what it has captured
            self._by_key[passed.key] = variant
        return variant, passed

    def _build(self, values: Sequence[Any], same: Mapping[str, str], call: Hashable) -> Variant:
        declaration, current = self.declaration, self.program
        config = current.config
        with context():
            builder = Builder(config.default_fp, config.default_ip, config.debug)
            parameters = chosen(declaration.parameters, values)
            arrays = [(p.name, v) for p, v in zip(parameters, values) if p.kind == NDARRAY]
            self.captured.start(builder, arrays)
            arguments = {
                p.name: SameArgument(same[p.name])
                if p.name in same
                else frontend_argument(p, v, config)
                for p, v in zip(parameters, values)
            }
            kernel = build_kernel(
                declaration.source,
                declaration.function,
                list(arguments.items()),
                declaration.return_type,
                builder,
                lambda: declare_trees(current, list(builder.arrays)),
            )
        current.variants += 1
        self.captured.add(call, builder)
        follows = self.captured.follows
        self._watch([Read(*read) for read in builder.attributes if not follows(*read[:2])])
        self.names.add([name for name in builder.names.values() if not follows(*name[:2])])
        constants = [a.value for a in arguments.values() if isinstance(a, ConstantArgument)]
        variant = Variant(kernel, current, constants)
        current.built.add(variant)
        return variant

    def _watch(self, reads: list[Read]) -> None:
        new = {(id(read.owner), read.name): read for read in reads}
        watch([read for key, read in new.items() if key not in self._reads], self._note_change)
        self._reads.update(new)

    def _note_change(self, owner: int, name: str) -> None:
        read = self._reads.get((owner, name))
        if read is not None and read.differs():
            self._changed.add((owner, name))
            self._notify()

    def _warn_of_changes(self) -> None:
        """Warn, once for each, of attributes that were assigned since they became part of compiled
        code."""
        changed, self._changed = self._changed - self._told, set()
        for key in changed:
            read = self._reads[key]
            if read.differs():
                self._told.add(key)
                self._warn_of(read, getattr(read.owner, read.name, None))

    def _warn_of_names(self) -> None:
        """Warn, once for each, of names that stand for something else since they became part of
        compiled code."""
        for name in self.names.changed_names():
            key = id(name.home), name.name
            if key not in self._told:
                self._told.add(key)
                self._warn_of(name, name.now())

    def _warn_of(self, compiled: Read | Name, now: object) -> None:
        if isinstance(compiled.value, Function | FunctionType):
            reason = f"with {compiled.value!r} and calls it, but the function has been redefined"
            cure = "define the kernel again as well"
        else:
            reason = f"for {compiled} and uses that value, but it is now {short_text(now)}"
            cure = (
                "pass it as an argument of type ti.template(), or define the kernel again as well"
                if isinstance(now, AsArray)
                else "pass the value as an argument, or store it in a field"
            )
        warnings.warn(
            f"kernel '{self.declaration.name}' was compiled {reason}: {cure}",
            stacklevel=program_frame()[1],
        )


def _forms(parameters: Sequence[Parameter], arguments: Sequence[Any]) -> dict[str, Hashable]:
    """Return what decides, of the arguments of a launch, which variant takes them."""
    return {p.name: key_of(p, v) for p, v in zip(parameters, arguments) if p.decides}
