"""`@ti.kernel`: compiled for each choice of argument types, found again by them, launched."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from mlirad.checks import instance
from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import (
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.function_source import FunctionSource
from mlirad.frontend.python.values.annotations import evaluate_annotations
from mlirad.frontend.python.values.leaves import build_value
from mlirad.ir.reports.module_text import TextForm
from mlirad.kernel.form import ScalarForm
from mlirad.kernel.module import KernelModule
from mlirad.lang.arguments.array_buffer import allocations
from mlirad.lang.autodiff_mode import AutodiffMode
from mlirad.lang.kernels.kernel_declaration import KernelDeclaration
from mlirad.lang.kernels.kernel_names import KernelNames, runs_reverse
from mlirad.lang.kernels.kernel_variants import KernelVariants
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.kernels.read_only import check_arrays
from mlirad.lang.kernels.ready import Ready
from mlirad.lang.kernels.repeated import Repeats
from mlirad.lang.kernels.reverse_alone import launch_reverse_alone
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode, parse_mode
from mlirad.runtime.explanation import Explanation, explain_footprints
from mlirad.runtime.html import code_block, heading
from mlirad.runtime.kernels.kernel_ir import KernelIR
from mlirad.runtime.kernels.variant import RECORDED
from mlirad.runtime.program import Program, program


class Kernel(KernelNames):
    """A kernel, or (with an owner) a kernel that is a method of a data-oriented object."""

    def __init__(
        self,
        function: Callable[..., Any],
        owner: object = None,
        shared: Kernel | None = None,
        source: FunctionSource | None = None,
    ) -> None:
        self.function = function
        self.owner = owner
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._shared = shared
        base = None if shared is None else shared.declaration
        self.declaration: KernelDeclaration = KernelDeclaration(function, owner, base, source)
        self._variants: KernelVariants | None = None
        self._ready: Ready | None = None
        self._repeats = Repeats(self.declaration)

    def __get__(self, owner: Any, kind: object = None) -> Kernel:
        if owner is None:
            return self
        cache = owner.__dict__.setdefault("_mlirad_kernels", {})
        bound: Kernel | None = cache.get(self.__name__)
        return bound if bound is not None and bound._shared is self else self._bound(owner, cache)

    @in_turn
    def _bound(self, owner: Any, cache: dict[str, Kernel]) -> Kernel:
        bound = cache.get(self.__name__)
        if bound is None or bound._shared is not self:
            bound = cache[self.__name__] = type(self)(self.function, owner, self)
        return bound

    # Launch.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current, ready = program(), self._ready
        if ready is None or kwargs or ready.program is not current or current.trees.pending:
            if "qd_stream" in kwargs:
                kwargs = _without_stream(kwargs)
            repeated = self._repeats.launch(current, args, kwargs)
            if repeated is None:
                return self._launch(current, args, kwargs, PRIMAL)
            return _shape_results(*repeated)
        arrays = ready.arrays(args)
        if arrays is None:
            return self._launch(current, args, kwargs, PRIMAL)
        variant, threads = ready.variant, current.threads
        if not threads.watchers:  # `count_change`, without its call
            threads.changes = variant.launched_at = threads.changes + 1
        elif arrays:
            launch = ready.launch(self, args)
            if launch is None:
                return self._launch(current, args, kwargs, PRIMAL)
            return _shape_results(variant.kernel, launch.execute())
        elif (recorder := threads.of_thread.state.recorder) is not None:
            return _shape_results(variant.kernel, Launch(self, variant, args).record_by(recorder))
        else:
            variant.launched_at = threads.count_change()
        if ready.code is None:  # all launches so far were recorded, and ran in other modes
            return self._launch(current, args, kwargs, PRIMAL)
        results = ready.code.launch(args, arrays)
        return _shape_results(variant.kernel, results) if results else None

    def _note_ready(self, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """From now on launch without looking arguments up, where they are like these."""
        variant = launch.variant
        with compiling:  # in which nothing becomes stale
            assert self._variants is not None
            if not kwargs:
                self._ready = self._variants.ready(variant, args)
            if self._ready is not None or self._repeats.add(launch, self._variants, args, kwargs):
                variant.codes.when_stale.append(self._forget_ready)

    def _forget_ready(self) -> None:
        self._ready = None
        self._repeats.forget()

    @property
    def place(self) -> str:
        """The line where it is defined."""
        return self.declaration.place

    @property
    def autodiff_mode(self) -> AutodiffMode:
        """Return the work that launches do now besides computing: `VALIDATION` inside a tape that
        validates."""
        recorder = program().threads.recorder
        validates = recorder is not None and recorder.validates
        return AutodiffMode.VALIDATION if validates else AutodiffMode.NONE

    @runs_reverse
    def grad(self, *args: Any, **kwargs: Any) -> None:
        """Run the reverse of this kernel at the present state: adjoints of its outputs flow to its
        inputs."""
        kwargs = _without_stream(kwargs) if "qd_stream" in kwargs else kwargs
        self._launch(program(), args, kwargs, REVERSE)

    def _launch(
        self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any], mode: Mode
    ) -> Any:
        if in_kernel():
            raise TaichiSyntaxError(
                "kernels cannot be called from kernels: make the callee a @ti.func"
            )
        if current.interpret is not None:
            return current.interpret(_without_derivatives(self, current, mode), args, kwargs)
        try:
            launch = self.prepare(current, args, kwargs)
            if launch.arrays:
                is_derived = mode.is_reverse or current.threads.recorder is not None
                check_arrays(launch.variant, launch.arrays, is_derived=is_derived)
            if launch.variant.kernel.uses_seed:
                _draw_seed(launch, current, mode)
            if mode.is_reverse:
                return _run_reverse(launch)
            results = launch.execute()
        except TaichiCompilationError as error:  # the message has the user's place
            raise _shorten_trace(error) from error.__cause__
        if current.config.debug:
            current.check_ends(f"kernel '{self.__name__}'", allocations(launch.arrays))
        elif (self._ready is None or self._ready.code is None) and not mode.is_reverse:
            self._note_ready(launch, args, kwargs)
        return _shape_results(launch.variant.kernel, results)

    def prepare(self, current: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch:
        """The launch for some arguments.

        Raises TaichiRuntimeTypeError for a wrong number or type of arguments.
        """
        if current.trees.pending:
            current.trees.materialize()
        variants = self._variants
        if variants is None or variants.program is not current:
            variants = self._begin(current)
        try:
            return variants.prepare(self, args, kwargs)
        except TaichiRuntimeTypeError as error:
            raise TaichiRuntimeTypeError(f"kernel '{self.__name__}': {error}") from None

    @in_turn
    def _begin(self, current: Program) -> KernelVariants:
        """The variants of a program, which all threads share: what they know of launches is by
        variant."""
        variants = self._variants
        if variants is None or variants.program is not current:
            variants = KernelVariants(self.declaration, current, self._forget_ready)
            self._variants = variants
            self._forget_ready()
        return variants

    # Inspection.

    def __repr__(self) -> str:
        return f"<ti.kernel '{self.__name__}'>"

    def __dir__(self) -> list[str]:
        from mlirad.lang.host.public_names import KERNEL_NAMES, shown_names

        return shown_names(super().__dir__(), KERNEL_NAMES)

    def _repr_html_(self) -> str:
        """Return the HTML of a notebook: the place of the kernel, and its text."""
        text = ast.unparse(self.declaration.source.node)
        return heading(f"{self!r} {self.place}") + code_block(text)

    def ir(
        self,
        *args: Any,
        stage: str = "field",
        mode: str = "primal",
        locations: bool = False,
        trees: bool = True,
        generic: bool = False,
    ) -> str:
        """Return the kernel's IR at a stage of the pipeline, as text that `mlirad-opt` reads.

        With `locations`, each op says its line. Without `trees`, the layout of fields is left out,
        and the text is for reading only. A `generic` text has all ops in MLIR's generic form, which
        any parser of MLIR takes.
        """
        form = TextForm(locations=locations, trees=trees, generic=generic)
        return _stages(self, args).dump(stage, parse_mode(mode), form)

    def def_vjp(self, rule: object) -> None:
        """Raise TaichiTypeError: a kernel's own derivative is that of a Python function that
        launches it."""
        raise TaichiTypeError(
            f"'{self.__name__}' is a kernel: def_vjp applies to a @ti.func. Use "
            "ti.ad.grad_replaced and ti.ad.grad_for to give a derivative to a Python function "
            "that launches kernels"
        )

    def explain(self, *args: Any) -> Explanation:
        """Return the values that the reverse reads again, and the compiler's choices; for bytes,
        see `ti.ad.Tape.explain`."""
        variant = self.prepare(program(), args, {}).variant
        variant.refresh()
        pieces = variant.pieces()
        for piece in pieces:
            piece.codes.code(REVERSE)  # which there may not be
        remarks = variant.stages.remarks(PRIMAL)
        remarks += [text for piece in pieces for text in piece.stages.remarks(REVERSE)]
        return explain_footprints([piece.notes.footprints() for piece in pieces], remarks)

    def ptx(self, *args: Any, mode: str = "primal", chip: str = "sm_90") -> str:
        """The kernel as PTX for an NVIDIA GPU."""
        return _stages(self, args).ptx(parse_mode(mode), chip)

    def amdgpu(self, *args: Any, mode: str = "primal", chip: str = "gfx942") -> str:
        """The kernel as assembly for an AMD GPU."""
        return _stages(self, args).amdgpu(parse_mode(mode), chip)


def _stages(kernel: Kernel, args: tuple[Any, ...]) -> KernelIR:
    """Return the stages of a kernel for arguments like these."""
    return kernel.prepare(program(), args, {}).variant.stages


def _without_derivatives(kernel: Kernel, current: Program, mode: Mode) -> KernelDeclaration:
    """Return the declaration of a kernel. Raises TaichiRuntimeError for derivatives."""
    if mode.is_reverse or current.threads.recorder is not None:
        raise TaichiRuntimeError(
            f"kernel '{kernel.__name__}' has no derivatives with arch=ti.python, which does not "
            "compile it: use another arch to compute gradients"
        )
    return kernel.declaration


def _draw_seed(launch: Launch, current: Program, mode: Mode) -> None:
    """Pass a kernel that draws its seed: a reverse repeats the draws of the thread's last
    launch."""
    variant, seeds = launch.variant, current.threads.state.seeds
    if not mode.is_reverse or variant not in seeds:
        seeds[variant] = current.random.next_seed()
    launch.values = [*launch.values, seeds[variant]]


def _run_reverse(launch: Launch) -> None:
    recorder = launch.variant.program.threads.recorder
    if recorder is None:
        launch_reverse_alone(launch)
    else:
        recorder.launch_reverse(launch)
    launch.variant.launched_at = RECORDED


def _shape_results(kernel: KernelModule, results: tuple[Any, ...] | None) -> Any:
    """The results of a launch, as the kernel's function gives them: a number, a tuple, a matrix,
    a struct or nothing."""
    if not results:
        return None
    form = kernel.result_form
    if form is None or type(form) is ScalarForm:
        return results[0]
    return build_value(form, iter(results))


def _without_stream(kwargs: dict[str, object]) -> dict[str, object]:
    from mlirad.lang.kernels.streams import without_stream

    return without_stream(kwargs)


def _shorten_trace(error: TaichiCompilationError) -> TaichiCompilationError:
    """The error without the frames it passed through; of its cause, the innermost frame."""
    cause = error.__cause__
    if cause is not None:
        trace = cause.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        cause.__traceback__ = trace
    return error.with_traceback(None)


def kernel(function: Any = None) -> Any:
    """Compile a function when it is called. Its outermost loops run in parallel.

    Each parameter needs a type: a scalar type, `ti.template()`, or a type from `ti.types`. A result
    needs a type too. The function may be a method of a `ti.data_oriented` class. A kernel is
    compiled again for each combination of template arguments and array types.

    Args:
        function: the Python function to compile.

    Returns:
        The kernel. Call it with arguments to launch it.

    Raises:
        TaichiCompilationError: the function cannot be compiled; the message names the line.
            Subclasses are TaichiSyntaxError (also for a parameter without a type, and a wrong
            number of arguments), TaichiTypeError, TaichiNameError and TaichiIndexError.
        TaichiRuntimeTypeError: an argument of a launch does not have the declared type.
        TaichiAssertionError: an assertion fails, or, with `ti.init(debug=True)`, an index is out of
            range.
    """
    if function is None:  # `@ti.kernel()`
        return kernel
    evaluate_annotations(function, sys._getframe(1))
    return Kernel(function)


def func(function: Any = None) -> Any:
    """Mark a function that kernels, and other such functions, call. It is inlined into its caller.

    Parameters need no types. Arguments are passed by value; fields and parameters declared as
    `ti.template()` are passed by reference. The function may return several values, from any point.
    Python can call it as an ordinary function. If it cannot be compiled, the kernel that calls it
    raises the error.
    """
    if function is None:  # `@ti.func()`
        return func
    evaluate_annotations(function, sys._getframe(1))
    return Function(function)


def real_func(function: Callable[..., Any]) -> Function:
    """Mark a function that kernels call and that may call itself.

    The types of its parameters and of its result must be declared. Its loops run serially.

    Raises:
        TaichiSyntaxError: a parameter has no type.
    """
    evaluate_annotations(function, sys._getframe(1))
    marked = Function(function, is_real=True)
    marked.check_declared()
    return marked


def data_oriented(cls: type | None = None, *, template_primitives: bool = True) -> Any:
    """Mark a class whose methods may be kernels.

    `self` is a compile-time value in those kernels: fields among its attributes are fields, and
    numbers become constants of the compiled kernel. Its ndarrays are looked up at each launch.

    Args:
        cls: the class.
        template_primitives: if False, numbers are looked up at each launch too, and the kernel is
            compiled again when one has changed.

    Raises:
        TaichiTypeError: `cls` is not a class.
    """

    def mark(cls: type) -> type:
        marked: type = instance(cls, type, "what ti.data_oriented marks", "a class")
        if not template_primitives:
            marked.follows_numbers = True  # type: ignore[attr-defined]
        return marked

    return mark if cls is None else mark(cls)
