"""`@ti.kernel`: compiled for each choice of argument types, found again by them, launched."""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mlirad.dialect import context
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.annotations import Template, evaluate_annotations
from mlirad.frontend.builder import Builder, in_kernel
from mlirad.frontend.calls import Function
from mlirad.frontend.kernel import ConstantArgument, SameArgument, build_kernel
from mlirad.frontend.source import FunctionSource, read_source
from mlirad.lang import arguments as arg
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import RECORDED, Variant, declare_trees


class Kernel:
    """A kernel, or (with an owner) a kernel that is a method of a data-oriented object."""

    def __init__(self, function: Callable[..., Any], owner: Any = None, shared: Kernel | None = None) -> None:
        self.function = function
        self.owner = owner
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._shared = shared
        self._source: FunctionSource | None = None
        self._parameters: list[arg.Parameter] | None = None
        self._return_type: Any = None
        self._variants: dict[Any, Variant] = {}
        self._program: Program | None = None
        self._ready: Variant | None = None
        self._ranges: list[tuple[type, float, float]] = []

    # Declaration.

    @property
    def source(self) -> FunctionSource:
        """The syntax tree, read once. Raises TaichiSyntaxError where it cannot be."""
        if self._source is None:
            self._source = self._shared.source if self._shared is not None else read_source(self.function)
        return self._source

    @property
    def parameters(self) -> list[arg.Parameter]:
        """The declared parameters, without `self`. Raises TaichiSyntaxError for those without a type."""
        if self._parameters is None:
            self._parameters = self._declared()
        return self._parameters

    def _declared(self) -> list[arg.Parameter]:
        signature = inspect.signature(self.function, eval_str=False)
        hints = self.function.__annotations__
        for name, hint in hints.items():
            if isinstance(hint, str):
                raise TaichiSyntaxError(f"Invalid type annotation (argument {name}) of kernel '{self.__name__}': "
                                        f"{hint}")
        declared = hints.get("return", inspect.Signature.empty)
        self._return_type = None if declared in (inspect.Signature.empty, None) else _return_type(declared)
        names = list(signature.parameters)
        found = []
        for position, name in enumerate(names):
            kind = signature.parameters[name].kind
            if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise TaichiSyntaxError(f"Taichi kernels do not support variable number of parameters: "
                                        f"'{name}' of '{self.__name__}'")
            if position == 0 and (self.owner is not None or (name == "self" and name not in hints)):
                found.append(arg.Parameter(name, arg.TEMPLATE, Template()))
                continue
            found.append(arg.parameter(name, hints.get(name), self.__name__))
        return found

    def __get__(self, owner: Any, kind: Any = None) -> Kernel:
        if owner is None:
            return self
        cache = owner.__dict__.setdefault("_mlirad_kernels", {})
        bound = cache.get(self.__name__)
        if bound is None or bound._shared is not self:
            bound = cache[self.__name__] = Kernel(self.function, owner, self)
        return bound

    # Launch.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current = program()
        variant = self._ready
        if variant is None or kwargs or self._program is not current or current.pending or not self._takes(args):
            return self._launch(current, args, kwargs, "primal")
        current.changes = variant.launched_at = current.changes + 1
        recorder = current.recorder
        if recorder is None:
            variant.compiled["primal"].launch(args)
        else:
            variant.launched_at = RECORDED
            recorder.launch(self, variant, args, ())
            if variant.kernel.results:
                recorder.result(self, variant, ())
        return variant.result() if variant.kernel.results else None

    def _takes(self, args: tuple[Any, ...]) -> bool:
        """Whether arguments are numbers that need no conversion."""
        if len(args) != len(self._ranges):
            return False
        for value, (kind, low, high) in zip(args, self._ranges):
            if type(value) is not kind or not low <= value < high:  # type: ignore[operator]
                return False
        return not in_kernel()

    def _note_ready(self, variant: Variant) -> None:
        """From now on launch without looking arguments up, where all of them are numbers."""
        numbers = [p for p in self.parameters if p.kind == arg.SCALAR]
        others = len(self.parameters) - len(numbers) - (self.owner is not None)
        if others or variant.kernel.uses_seed or "primal" not in variant.compiled or variant.messages["primal"]:
            return
        self._ranges = [arg.plain_range(arg.scalar_dtype(p, variant.program.config)) for p in numbers]
        self._ready = variant
        variant.when_stale.append(self._forget_ready)

    def _forget_ready(self) -> None:
        self._ready = None

    @property
    def place(self) -> str:
        """The line where it is defined."""
        return f"{self.source.file}:{self.source.node.lineno + self.source.line_offset}"

    @property
    def autodiff_mode(self) -> AutodiffMode:
        """What launches do besides computing now: `VALIDATION` inside a tape that validates."""
        recorder = program().recorder
        return AutodiffMode.VALIDATION if recorder is not None and recorder.validates else AutodiffMode.NONE

    def grad(self, *args: Any, **kwargs: Any) -> None:
        """Run the reverse of this kernel at the present state: adjoints of its outputs flow to its inputs."""
        self._launch(program(), args, kwargs, "reverse")

    def _launch(self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any], mode: str) -> Any:
        if in_kernel():
            raise TaichiSyntaxError("kernels cannot be called from kernels: make the callee a @ti.func")
        try:
            return self._run(current, args, kwargs, mode)
        except TaichiCompilationError as error:  # the message has the user's place
            raise _shortened(error) from error.__cause__

    def _run(self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any], mode: str) -> Any:
        variant, values, buffers = self.prepare(current, args, kwargs)
        if variant.kernel.uses_seed:
            if mode == "primal" or variant.seed is None:  # a reverse repeats the draws of the last launch
                variant.seed = current.next_seed()
            values.append(variant.seed)
        if mode == "primal":
            current.changes += 1
            variant.launched_at = RECORDED if current.recorder is not None else current.changes
            if current.recorder is not None:
                current.recorder.launch(self, variant, values, buffers)
                if variant.kernel.results:
                    current.recorder.result(self, variant, buffers)
            else:
                variant.launch("primal", flat_values(values, buffers, variant, reverse=False))
            for buffer in buffers:
                if buffer.back is not None:
                    buffer.back()
            if self._ready is None:
                self._note_ready(variant)
            return variant.result() if variant.kernel.results else None
        arrays = [number for number, value in enumerate(values) if value is _ARRAY]
        variant.check_unwritten(flat_values(values, buffers, variant, reverse=False),
                                dict(zip(arrays, [buffer.address for buffer in buffers])))
        variant.launch_reverse_alone(flat_values(values, buffers, variant, reverse=True))
        variant.launched_at = RECORDED
        return None

    def prepare(self, current: Program, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> tuple[Variant, list[Any], list[arg.ArrayBuffer]]:
        """The variant for some arguments, and the arguments as a launch passes them.

        Raises TaichiRuntimeTypeError for a wrong number or type of arguments.
        """
        if current.pending:
            current.materialize()
        if self._program is not current:
            self._variants, self._program, self._ready = {}, current, None
        given = self._bind(args, kwargs)
        parameters = self.parameters
        key = tuple([arg.key_of(p, v) for p, v in zip(parameters, given) if p.kind >= arg.NDARRAY])
        arrays = {p.name: arg.array_buffer(v, p.name, True) for p, v in zip(parameters, given) if p.kind == arg.NDARRAY}
        same = arg.same_arrays(arrays) if len(arrays) > 1 else {}
        if same:
            key = (*key, *same.items())
        variant = self._variants.get(key)
        if variant is None or variant.is_stale:
            variant = self._variants[key] = self._build(current, parameters, given, same)
        values: list[Any] = []
        for p, v in zip(parameters, given):
            if p.kind == arg.SCALAR:
                values.append(arg.convert_scalar(v, arg.scalar_dtype(p, current.config), p.name))
            elif p.kind == arg.MATRIX:
                values += arg.matrix_entries(v, p, arg.scalar_dtype(p, current.config))
            elif p.kind == arg.NDARRAY and p.name not in same:
                values.append(_ARRAY)
        return variant, values, [buffer for name, buffer in arrays.items() if name not in same]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        given = [self.owner, *args] if self.owner is not None else list(args)
        parameters = self.parameters
        if len(given) == len(parameters) and not kwargs:
            return given
        if len(given) > len(parameters):
            count = len(parameters) - (self.owner is not None)
            raise TaichiSyntaxError(f"Too many arguments: kernel '{self.__name__}' takes {count}, "
                                    f"but got {len(args) + len(kwargs)}")
        names = [p.name for p in parameters]
        bound = dict(zip(names, given))
        for name, value in kwargs.items():
            if name not in names:
                raise TaichiSyntaxError(f"Unexpected argument '{name}' for kernel '{self.__name__}'")
            if name in bound:
                raise TaichiSyntaxError(f"Multiple values for argument '{name}' of kernel '{self.__name__}'")
            bound[name] = value
        declared = inspect.signature(self.function).parameters
        for p in parameters:
            default = declared[p.name].default
            if p.name not in bound and default is inspect.Parameter.empty:
                raise TaichiSyntaxError(f"Parameter `{p.name} : {p.annotation}` missing in a call of kernel "
                                        f"'{self.__name__}'")
            bound.setdefault(p.name, default)
        return [bound[name] for name in names]

    def _build(self, current: Program, parameters: list[arg.Parameter], given: list[Any],
               same: dict[str, str]) -> Variant:
        config = current.config
        with context():
            builder = Builder(config.default_fp, config.default_ip, config.debug)
            arguments = [(p.name, SameArgument(same[p.name]) if p.name in same else arg.frontend_argument(p, v, config))
                         for p, v in zip(parameters, given)]
            kernel = build_kernel(self.source, self.function, arguments, self._return_type, builder,
                                  lambda: declare_trees(current, list(builder.arrays)))
        current.variants += 1
        constants = [a.value for _, a in arguments if isinstance(a, ConstantArgument)]
        return Variant(kernel, current, constants)

    # Inspection.

    def ir(self, *args: Any, stage: str = "field", mode: str = "primal") -> str:
        """The kernel's IR at a stage of the pipeline, as text that `mlirad-opt` reads."""
        variant, _, _ = self.prepare(program(), args, {})
        return variant.dump(stage, mode)

    def def_vjp(self, rule: Any) -> None:
        """Raise TaichiTypeError: a kernel's own derivative is that of a Python function that launches it."""
        raise TaichiTypeError(f"'{self.__name__}' is a kernel, and def_vjp is for a @ti.func: ti.ad.grad_replaced and "
                              "ti.ad.grad_for give a derivative to a Python function that launches kernels")

    def explain(self, *args: Any) -> Explanation:
        """What the reverse of this kernel reads again, with the source lines; see `ti.ad.Tape.explain` for bytes."""
        variant, _, _ = self.prepare(program(), args, {})
        variant.refresh()
        return variant.explain()

    def ptx(self, *args: Any, mode: str = "primal", chip: str = "sm_90") -> str:
        """The kernel as PTX for an NVIDIA GPU."""
        variant, _, _ = self.prepare(program(), args, {})
        return variant.ptx(mode, chip)


def _shortened(error: TaichiCompilationError) -> TaichiCompilationError:
    """The error without the frames it passed through; of its cause, the innermost frame."""
    cause = error.__cause__
    if cause is not None:
        trace = cause.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        cause.__traceback__ = trace
    return error.with_traceback(None)


_ARRAY = object()


def flat_values(values: Sequence[Any], buffers: Sequence[arg.ArrayBuffer], variant: Variant, *,
                reverse: bool, tangents: int = 0) -> Sequence[Any]:
    """Arguments in the order of the lowered kernel: arrays as pointer and open extents, then gradients, then tangents.

    Raises TaichiRuntimeError for an array that should have a gradient and has none.
    """
    if not buffers:
        return values
    flat: list[Any] = []
    arrays = iter(enumerate(buffers))
    for value in values:
        if value is not _ARRAY:
            flat.append(value)
            continue
        position, buffer = next(arrays)
        flat += _array_values(buffer, variant, position)
    if reverse:
        for position, buffer in enumerate(buffers):
            if variant.array_needs_grad[position]:
                if buffer.grad is None:
                    raise TaichiRuntimeError("an array argument without a gradient in a reverse launch")
                flat += _array_values(buffer.grad, variant, position)
    carriers = [(k, buffer) for k, buffer in enumerate(buffers) if variant.array_needs_grad[k]] if tangents else []
    for position, dual in _duals(carriers, tangents) + (_duals(_gradients(carriers), tangents) if reverse else []):
        flat += _array_values(dual, variant, position)
    return flat


def _gradients(carriers: Sequence[tuple[int, arg.ArrayBuffer]]) -> list[tuple[int, arg.ArrayBuffer]]:
    return [(position, buffer.grad) for position, buffer in carriers if buffer.grad is not None]


def _duals(carriers: Sequence[tuple[int, arg.ArrayBuffer]], count: int) -> list[tuple[int, arg.ArrayBuffer]]:
    return [(position, dual) for position, buffer in carriers for dual in arg.dual_buffers(buffer, count)]


def _array_values(buffer: arg.ArrayBuffer, variant: Variant, position: int) -> list[Any]:
    return [buffer.address, *buffer.dims[:variant.array_ranks[position]]]


def _return_type(declared: Any) -> Any:
    arguments = getattr(declared, "__args__", None)
    return tuple(arguments) if arguments else declared if not isinstance(declared, list) else tuple(declared)


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
