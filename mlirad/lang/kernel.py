"""`@ti.kernel`: compiled for each choice of argument types, found again by them, launched."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlirad.dialect import context
from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import (
    TaichiCompilationError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from mlirad.frontend.python.annotations import Template, evaluate_annotations
from mlirad.frontend.python.builder import Builder, in_kernel
from mlirad.frontend.python.function import Function
from mlirad.frontend.python.kernel import build_kernel
from mlirad.frontend.python.source import FunctionSource, read_source
from mlirad.kernel.arguments import ConstantArgument, SameArgument
from mlirad.lang import arguments as arg
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.callers import program_frame
from mlirad.lang.read_only import check_writeable
from mlirad.lang.results import shaped
from mlirad.lang.watched import Read, watch
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode, parse_mode
from mlirad.runtime.executor.executor import Code
from mlirad.runtime.explanation import Explanation, explained
from mlirad.runtime.kernel_ir import declare_trees
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import RECORDED, Variant


class _Variants:
    """The variants of a kernel in one program. A thread that came from the last program never puts
    one here."""

    def __init__(self, program: Program | None) -> None:
        self.program = program
        self.by_key: dict[Any, Variant] = {}


@dataclass(frozen=True)
class _Ready:
    """What is launched without looking arguments up, where they are numbers of these types and in
    these ranges."""

    program: Program
    variant: Variant
    code: Code
    ranges: Sequence[tuple[type, float, float]]


class Kernel:
    """A kernel, or (with an owner) a kernel that is a method of a data-oriented object."""

    def __init__(
        self, function: Callable[..., Any], owner: Any = None, shared: Kernel | None = None
    ) -> None:
        self.function = function
        self.owner = owner
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._shared = shared
        self._source: FunctionSource | None = None
        self._parameters: list[arg.Parameter] | None = None
        self._return_type: Any = None
        self._variants = _Variants(None)
        self._ready: _Ready | None = None
        self._reads: dict[
            tuple[int, str], Read
        ] = {}  # attributes that are part of compiled code, by object and name
        self._changed: set[tuple[int, str]] = set()  # those that have other values now
        self._told: set[tuple[int, str]] = set()  # those of which the user was told

    # Declaration.

    @property
    def source(self) -> FunctionSource:
        """The syntax tree, read once. Raises TaichiSyntaxError where it cannot be."""
        if self._source is None:
            self._source = (
                self._shared.source if self._shared is not None else read_source(self.function)
            )
        return self._source

    @property
    def parameters(self) -> list[arg.Parameter]:
        """The declared parameters, without `self`. Raises TaichiSyntaxError for those without a
        type."""
        if self._parameters is None:
            self._parameters = self._declared()
        return self._parameters

    def _declared(self) -> list[arg.Parameter]:
        signature = inspect.signature(self.function, eval_str=False)
        hints = self.function.__annotations__
        for name, hint in hints.items():
            if isinstance(hint, str):
                raise TaichiSyntaxError(
                    f"Invalid type annotation (argument {name}) of kernel '{self.__name__}': {hint}"
                )
        declared = hints.get("return", inspect.Signature.empty)
        self._return_type = (
            None if declared in (inspect.Signature.empty, None) else _return_type(declared)
        )
        names = list(signature.parameters)
        found = []
        for position, name in enumerate(names):
            kind = signature.parameters[name].kind
            if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise TaichiSyntaxError(
                    f"Taichi kernels do not support variable number of parameters: "
                    f"'{name}' of '{self.__name__}'"
                )
            if position == 0 and (self.owner is not None or (name == "self" and name not in hints)):
                found.append(arg.Parameter(name, arg.TEMPLATE, Template()))
                continue
            found.append(arg.parameter(name, hints.get(name), self.__name__))
        return found

    def __get__(self, owner: Any, kind: Any = None) -> Kernel:
        if owner is None:
            return self
        cache = owner.__dict__.setdefault("_mlirad_kernels", {})
        bound: Kernel | None = cache.get(self.__name__)
        return bound if bound is not None and bound._shared is self else self._bound(owner, cache)

    @in_turn
    def _bound(self, owner: Any, cache: dict[str, Kernel]) -> Kernel:
        bound = cache.get(self.__name__)
        if bound is None or bound._shared is not self:
            bound = cache[self.__name__] = Kernel(self.function, owner, self)
        return bound

    # Launch.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current = program()
        ready = self._ready
        if (
            ready is None
            or kwargs
            or ready.program is not current
            or current.pending
            or not _takes(args, ready.ranges)
        ):
            return self._launch(current, args, kwargs, PRIMAL)
        variant = ready.variant
        current.changes = variant.launched_at = current.changes + 1
        if current.watchers:
            own = current.own
            own.changed, own.changes = current.changes, own.changes + 1
            if own.recorder is not None:
                variant.launched_at = RECORDED
                recorded = own.recorder.launch(self, variant, args, ())
                if variant.kernel.results:
                    own.recorder.result(self, variant, ())
                return shaped(variant.kernel, recorded)
        found = ready.code.launch(args)
        return shaped(variant.kernel, found) if found else None

    def _note_ready(self, variant: Variant) -> None:
        """From now on launch without looking arguments up, where all of them are numbers."""
        numbers = [p for p in self.parameters if p.kind == arg.SCALAR]
        others = len(self.parameters) - len(numbers) - (self.owner is not None)
        with compiling:  # in which nothing becomes stale
            code = variant.codes.compiled.get(PRIMAL)
            if others or variant.kernel.uses_seed or code is None or code.messages:
                return
            ranges = [arg.plain_range(arg.scalar_dtype(p, variant.program.config)) for p in numbers]
            self._ready = _Ready(variant.program, variant, code, ranges)
            variant.codes.when_stale.append(self._forget_ready)

    def _forget_ready(self) -> None:
        self._ready = None

    def _watch(self, reads: list[Read]) -> None:
        new = {(id(read.owner), read.name): read for read in reads}
        watch([read for key, read in new.items() if key not in self._reads], self._note_change)
        self._reads.update(new)

    def _note_change(self, owner: int, name: str) -> None:
        read = self._reads.get((owner, name))
        if read is not None and read.differs():
            self._changed.add((owner, name))
            self._ready = None

    def _warn_of_changes(self) -> None:
        """Warn, once for each, of attributes that were assigned since they became part of compiled
        code."""
        changed, self._changed = self._changed - self._told, set()
        for key in changed:
            read = self._reads[key]
            if read.differs():
                self._told.add(key)
                warnings.warn(
                    f"kernel '{self.__name__}' was compiled for {read}, and computes with that, "
                    f"but it is "
                    f"{getattr(read.owner, read.name, None)!r} now: pass it as an argument, or "
                    f"keep it in a field",
                    stacklevel=program_frame()[1],
                )

    @property
    def place(self) -> str:
        """The line where it is defined."""
        return f"{self.source.file}:{self.source.node.lineno + self.source.line_offset}"

    @property
    def autodiff_mode(self) -> AutodiffMode:
        """What launches do besides computing now: `VALIDATION` inside a tape that validates."""
        recorder = program().recorder
        return (
            AutodiffMode.VALIDATION
            if recorder is not None and recorder.validates
            else AutodiffMode.NONE
        )

    def grad(self, *args: Any, **kwargs: Any) -> None:
        """Run the reverse of this kernel at the present state: adjoints of its outputs flow to its
        inputs."""
        self._launch(program(), args, kwargs, REVERSE)

    def _launch(
        self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any], mode: Mode
    ) -> Any:
        if in_kernel():
            raise TaichiSyntaxError(
                "kernels cannot be called from kernels: make the callee a @ti.func"
            )
        try:
            return self._run(current, args, kwargs, mode)
        except TaichiCompilationError as error:  # the message has the user's place
            raise _shortened(error) from error.__cause__

    def _run(
        self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any], mode: Mode
    ) -> Any:
        variant, values, buffers = self.prepare(current, args, kwargs)
        check_writeable(variant, buffers, reverse=mode.is_reverse or current.recorder is not None)
        if variant.kernel.uses_seed:
            seeds = current.own.seeds
            if (
                mode == PRIMAL or variant not in seeds
            ):  # a reverse repeats the draws of the thread's last launch
                seeds[variant] = current.next_seed()
            values.append(seeds[variant])
        if mode == PRIMAL:
            count, recorder = current.count_change(), current.recorder
            variant.launched_at = RECORDED if recorder is not None else count
            if recorder is not None:
                found = recorder.launch(self, variant, values, buffers)
                if variant.kernel.results:
                    recorder.result(self, variant, buffers)
            else:
                found = variant.launch(PRIMAL, values, buffers)
            for position, buffer in enumerate(buffers):
                if buffer.back is not None and position in variant.notes.written_arrays():
                    buffer.back()
            if self._ready is None:
                self._note_ready(variant)
            return shaped(variant.kernel, found)
        variant.launch_reverse_alone(values, buffers)
        variant.launched_at = RECORDED
        return None

    def prepare(
        self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Variant, list[Any], list[arg.ArrayBuffer]]:
        """The variant for some arguments, and what a launch passes: a value for each argument of
        the kernel's function, None in the place of an array, and the arrays.

        Raises TaichiRuntimeTypeError for a wrong number or type of arguments.
        """
        try:
            return self._prepare(current, args, kwargs)
        except TaichiRuntimeTypeError as error:
            raise TaichiRuntimeTypeError(f"kernel '{self.__name__}': {error}") from None

    def _prepare(
        self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Variant, list[Any], list[arg.ArrayBuffer]]:
        if current.pending:
            current.materialize()
        variants = self._variants
        if variants.program is not current:
            variants, self._ready = _Variants(current), None
            self._variants = variants
            self._reads, self._changed, self._told = {}, set(), set()
        given = self._bind(args, kwargs)
        parameters = self.parameters
        key = tuple([arg.key_of(p, v) for p, v in zip(parameters, given) if p.kind >= arg.NDARRAY])
        arrays = {
            p.name: arg.array_buffer(v, p.name, True)
            for p, v in zip(parameters, given)
            if p.kind == arg.NDARRAY
        }
        same = arg.same_arrays(arrays) if len(arrays) > 1 else {}
        if same:
            key = (*key, *same.items())
        variant = variants.by_key.get(key)
        if variant is None or variant.codes.is_stale:
            variant = self._variant(
                variants, key, lambda: self._build(current, parameters, given, same)
            )
        if self._changed:
            self._warn_of_changes()
        values: list[Any] = []
        for p, v in zip(parameters, given):
            if p.kind == arg.SCALAR:
                values.append(arg.convert_scalar(v, arg.scalar_dtype(p, current.config), p.name))
            elif p.kind == arg.MATRIX:
                values += arg.matrix_entries(v, p, arg.scalar_dtype(p, current.config))
            elif p.kind == arg.NDARRAY and p.name not in same:
                values.append(None)
        return variant, values, [buffer for name, buffer in arrays.items() if name not in same]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        given = [self.owner, *args] if self.owner is not None else list(args)
        parameters = self.parameters
        if len(given) == len(parameters) and not kwargs:
            return given
        if len(given) > len(parameters):
            count = len(parameters) - (self.owner is not None)
            raise TaichiSyntaxError(
                f"Too many arguments: kernel '{self.__name__}' takes {count}, "
                f"but got {len(args) + len(kwargs)}"
            )
        names = [p.name for p in parameters]
        bound = dict(zip(names, given))
        for name, value in kwargs.items():
            if name not in names:
                raise TaichiSyntaxError(
                    f"Unexpected argument '{name}' for kernel '{self.__name__}'"
                )
            if name in bound:
                raise TaichiSyntaxError(
                    f"Multiple values for argument '{name}' of kernel '{self.__name__}'"
                )
            bound[name] = value
        declared = inspect.signature(self.function).parameters
        for p in parameters:
            default = declared[p.name].default
            if p.name not in bound and default is inspect.Parameter.empty:
                raise TaichiSyntaxError(
                    f"Parameter `{p.name} : {p.annotation}` missing in a call of kernel "
                    f"'{self.__name__}'"
                )
            bound.setdefault(p.name, default)
        return [bound[name] for name in names]

    @in_turn
    def _variant(self, variants: _Variants, key: Any, build: Callable[[], Variant]) -> Variant:
        found = variants.by_key.get(key)
        if found is None or found.codes.is_stale:
            found = variants.by_key[key] = build()
        return found

    def _build(
        self,
        current: Program,
        parameters: list[arg.Parameter],
        given: list[Any],
        same: dict[str, str],
    ) -> Variant:
        config = current.config
        with context():
            builder = Builder(config.default_fp, config.default_ip, config.debug)
            arguments = [
                (
                    p.name,
                    SameArgument(same[p.name])
                    if p.name in same
                    else arg.frontend_argument(p, v, config),
                )
                for p, v in zip(parameters, given)
            ]
            kernel = build_kernel(
                self.source,
                self.function,
                arguments,
                self._return_type,
                builder,
                lambda: declare_trees(current, list(builder.arrays)),
            )
        current.variants += 1
        self._watch([Read(*read) for read in builder.attributes])
        constants = [a.value for _, a in arguments if isinstance(a, ConstantArgument)]
        return Variant(kernel, current, constants)

    # Inspection.

    def ir(self, *args: Any, stage: str = "field", mode: str = "primal") -> str:
        """The kernel's IR at a stage of the pipeline, as text that `mlirad-opt` reads."""
        variant, _, _ = self.prepare(program(), args, {})
        return variant.stages.dump(stage, parse_mode(mode))

    def def_vjp(self, rule: Any) -> None:
        """Raise TaichiTypeError: a kernel's own derivative is that of a Python function that
        launches it."""
        raise TaichiTypeError(
            f"'{self.__name__}' is a kernel, and def_vjp is for a @ti.func: ti.ad.grad_replaced "
            f"and "
            "ti.ad.grad_for give a derivative to a Python function that launches kernels"
        )

    def explain(self, *args: Any) -> Explanation:
        """What the reverse of this kernel reads again, with the source lines; see
        `ti.ad.Tape.explain` for bytes."""
        variant, _, _ = self.prepare(program(), args, {})
        variant.refresh()
        parts = variant.parts()
        for part in parts:
            part.codes.code(REVERSE)  # which there may not be
        return explained([part.notes.footprints() for part in parts])

    def ptx(self, *args: Any, mode: str = "primal", chip: str = "sm_90") -> str:
        """The kernel as PTX for an NVIDIA GPU."""
        variant, _, _ = self.prepare(program(), args, {})
        return variant.stages.ptx(parse_mode(mode), chip)


def _shortened(error: TaichiCompilationError) -> TaichiCompilationError:
    """The error without the frames it passed through; of its cause, the innermost frame."""
    cause = error.__cause__
    if cause is not None:
        trace = cause.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        cause.__traceback__ = trace
    return error.with_traceback(None)


def _takes(args: tuple[Any, ...], ranges: Sequence[tuple[type, float, float]]) -> bool:
    """Whether arguments are numbers that need no conversion, and this is no kernel."""
    if len(args) != len(ranges):
        return False
    for value, (kind, low, high) in zip(args, ranges):
        if type(value) is not kind or not low <= value < high:  # type: ignore[operator]
            return False
    return not in_kernel()


def _return_type(declared: Any) -> Any:
    arguments = getattr(declared, "__args__", None)
    return (
        tuple(arguments)
        if arguments
        else declared
        if not isinstance(declared, list)
        else tuple(declared)
    )


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a function when it is called: its outermost loops run in parallel."""
    evaluate_annotations(function, sys._getframe(1))
    return Kernel(function)


def func(function: Callable[..., Any]) -> Function:
    """Mark a function for use in kernels, where it is inlined."""
    evaluate_annotations(function, sys._getframe(1))
    return Function(function)


def data_oriented(cls: type) -> type:
    """Mark a class whose methods may be kernels; `self` is a compile-time value in them."""
    return cls
