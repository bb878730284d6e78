"""What a pass leaves computes what was there before: of every pass that changes what is computed,
once at least, as it is, in reverse and forward. A new pass fails here until it has such a program:
a function of its lit test that takes fields or arrays, or a kernel that is walked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs.pass_outputs import compare, group_of, lit_functions, of_functions
from programs.pass_walks import parsed, walk
from programs.walked_kernels import KERNELS
from programs.walked_tensors import FUNCTIONS

import mlirad as ti
from mlirad.dialect import context
from mlirad.errors import TaichiCompilationError
from mlirad.host import Feature, has
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.run.kernels.kernel_command import KernelCheck
from mlirad.mlir.run.kernels.kernel_derivatives import KernelDerivatives
from mlirad.mlir.run.kernels.kernel_run import Inputs, KernelRun
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode, with_tangents
from mlirad.pipeline.registry import pass_names
from mlirad.pipeline.stages.gpu import simt_stages
from mlirad.runtime.program import program

MODES = {"primal": PRIMAL, "reverse": REVERSE, "forward": with_tangents(1)}
MACHINES: dict[str, dict[str, int]] = {
    "cpu": {"cpu_max_num_threads": 1, "lanes": 1},
    "lanes": {"cpu_max_num_threads": 2, "lanes": 8},
    "simt": {"cpu_max_num_threads": 1},
}
ANNOTATE_OR_REJECT = ("check-", "mark-", "report-")  # the verbs of passes that change nothing
_GPU = "of GPU code alone, which no CPU runs: test/runtime/cuda, and on a card"
_AMD = "of code for AMD's GPUs, which nothing here runs: test/pipeline/test_amdgpu.py"
EXEMPT = {
    "differentiate-forward": "is another program: compared with differences below",
    "differentiate-reverse": "is another program: compared with differences below",
    "differentiate-te": "is another program: compared with differences in test/te",
    "inline-foreign-calls": "calls lowerings of other dialects, which its tests define: test/mlir",
    "insert-address-spaces": _AMD,
    "insert-collision-checks": "is a check in place of the kernel",
    "insert-depth-checks": "of functions that call themselves: test/mlir/test_recursion.py",
    "insert-thread-copies": _GPU,
    "insert-write-buffers": "is of arrays of 32 MB and more: test/passes/test_write_buffers.py",
    "keep-launch": "is one loop of several: test/ad/tape runs all of them",
    "lower-block-reductions": "is run thread by thread: test/passes/test_block_reductions.py",
    "lower-grid-sizes": _AMD,
    "lower-group-shuffles": _AMD,
    "lower-half-casts": "has no code without it: numbers in its lit test",
    "lower-paged-fields": "looks for pages, which a GPU has: test/runtime/cuda/test_pages.py",
    "lower-foreign-ops": "lowers ops of other dialects, which its tests define: test/mlir",
    "lower-math-to-intrinsics": _GPU,
    "lower-reciprocal-roots": _AMD,
    "lower-warp-reductions": _GPU,
    "merge-atomics": _GPU,
    "widen-bf16-memory": "of 8 bits, for which differences are too coarse: test/mlir",
    "record-accesses": "writes a log beside: test/races.py",
}
ON_ARRAYS = {"raise-sums-to-updates"}  # of the passes on functions, those on kernels by now
ON_TENSORS = {"merge-te-computes", "remove-te-zeros", "join-row-loops"}  # of te, and their reverse
# passes that every way to code needs, so that there is no run without them: numbers by NumPy, and
# differences, say what they make. By kernel, in the modes in which they have something to do.
NEEDED = {
    "expand-derivatives": "custom",
    "inline-custom-gradients": "custom",
    "lower-activity": "sparse",
    "lower-block-loops": "blocks",
    "lower-field-assert": "guarded",
    "lower-field-print": "guarded",
    "lower-field-random": "drawn",
    "lower-field-to-memref": "dots",
    "lower-grad-logs": "serial",
    "lower-grad-to-memref": "loops",
    "run-threads-in-loops": "dots",
    "lower-te-to-field": "",  # by its lit functions
}
_ALL = "primal reverse forward"
# kernels that are walked: on which machine, in which modes, for which passes
WALKS = [
    ("matmul", "cpu", _ALL, "split-contractions tile-contractions"),
    ("matmul", "cpu", _ALL, "insert-fast-math"),
    ("stencil", "lanes", _ALL, "split-guarded-loops split-parallel-loops insert-lanes"),
    ("stencil", "lanes", _ALL, "lower-parallel-to-workers"),
    ("stencil", "simt", "reverse", "gather-shifted-updates"),
    ("pairs", "lanes", _ALL, "insert-root-estimates"),
    ("pairs", "simt", "primal forward", "split-reductions"),
    ("grid", "lanes", _ALL, "split-long-blocks"),
    ("loops", "simt", _ALL, "hoist-loads lower-parallel-to-gpu narrow-inductions"),
    ("loops", "simt", _ALL, "sink-descriptors"),
    ("loops", "simt", "reverse", "insert-size-counts lower-thread-memory split-reductions"),
    ("elementary", "cpu", _ALL, "expand-elementary lower-constant-powers lower-vector-math"),
    ("elementary", "cpu", "reverse forward", "merge-root-quotients"),
    ("elementary", "cpu", "primal forward", "lower-floor-divisions"),
    ("elementary", "cpu", "reverse", "hoist-buffers"),
    ("elementary", "simt", "reverse", "lower-logs-to-stacks"),
    ("serial", "simt", _ALL, "split-serial-code"),
    ("serial", "cpu", "forward", "hoist-factors"),
    ("dots", "cpu", "primal reverse", "hoist-factors"),
    ("rows", "lanes", _ALL, "insert-private-copies"),
    ("rows", "simt", _ALL, "split-axis-reductions"),
    ("ordered", "cpu", _ALL, "lower-ordered-loops"),
    ("recurrent", "cpu", _ALL, "merge-products"),
    ("decisions", "cpu", _ALL, "split-sums"),
    ("exponentials", "simt", _ALL, "lower-small-exponentials"),
    ("nearest", "lanes", "reverse", "sink-taken-adjoints"),
    ("nearest", "cpu", "reverse", "track-choices"),
    ("poles", "lanes", "reverse forward", "sink-zero-guards"),
    ("serial", "lanes", "primal forward", "hoist-allocas"),
    ("peaks", "cpu", _ALL, "reassociate-extremes"),
    ("windows", "cpu", "primal reverse", "split-window-loops"),
    ("visited", "cpu", _ALL, "remove-activations"),
    ("blocks", "simt", "primal forward", "lower-block-threads"),
]
_STACKS = "what a reverse keeps has no other mode: its tangents are 'again'"
# in which modes a pass has nothing to do, or is not run as yet
WITHOUT = {
    "defer-zeros": {"reverse": "runs behind it: the zeros are written after a launch"},
    "hoist-buffers": {"forward": _STACKS},
    "hoist-allocas": {"reverse": "of sums of threads: a reverse adds to adjoints in memory"},
    "insert-decision-prints": dict.fromkeys(("reverse", "forward"), "prints beside"),
    "insert-finite-checks": {"reverse": "stops, and changes nothing: test/ad/anomaly"},
    "insert-size-counts": {"forward": _STACKS},
    "lower-block-threads": {"reverse": "one thread runs a block of a reverse"},
    "lower-floor-divisions": {"reverse": "of integers, which the primal has computed"},
    "lower-logs-to-stacks": {"forward": _STACKS},
    "lower-thread-memory": {"forward": _STACKS},
    "track-choices": {"forward": _STACKS},
    "sink-taken-adjoints": {"forward": "of what goes backwards: no tangent is handed on"},
    "split-pair-sums": {"reverse": "adds to adjoints in memory: test_block_contractions.py"},
    "split-window-loops": {"forward": "of one product a term: a tangent of products has two"},
}
# functions of lit tests that no run compares
_NOT_PUSHED = "reads a stack where nothing was pushed"
NOT_RUN = {
    ("differentiate-te", "gather"): "indexes with numbers that are not in range",
    ("gather-pair-updates", "opposite"): "divides 0 by 0, which fast math may change",
    ("insert-access-checks", "read_then_write"): "is what the check stops",
    ("insert-lanes", "buffer"): "reads an element that is not set",
    ("insert-lanes", "small_array_read"): "iterations in any order read what others write",
    ("lower-parallel-to-gpu", "huge"): "is larger than memory",
    ("lower-thread-memory", "array"): "indexes out of bounds",
    ("lower-thread-memory", "history"): _NOT_PUSHED,
    ("lower-thread-memory", "own"): _NOT_PUSHED,
    ("lower-thread-memory", "small"): _NOT_PUSHED,
    ("merge-iterations", "sum"): "reads in front of its first row",
}


CHANGING = [
    name for name in pass_names() if name not in EXEMPT and not name.startswith(ANNOTATE_OR_REJECT)
]
# on functions that others wrote: with their derivatives, against differences
ON_FUNCTIONS = {name for name in CHANGING if group_of(name) == "functions"} - ON_ARRAYS
WALKED = {
    (name, mode): (kernel, machine)
    for kernel, machine, modes, names in WALKS
    for mode in modes.split()
    for name in names.split()
}


def of_lit_tests() -> Iterator[tuple[str, str]]:
    """Yield the passes and modes that functions of their lit tests are run in."""
    for name in CHANGING:
        for mode in MODES:
            is_elsewhere = name in NEEDED or name in ON_FUNCTIONS or (name, mode) in WALKED
            if not is_elsewhere and mode not in WITHOUT.get(name, {}) and name not in ON_TENSORS:
                yield name, mode


@pytest.fixture(autouse=True)
def _program() -> Iterator[None]:
    ti.init(arch=ti.cpu, opt_level=1, **MACHINES["cpu"])
    yield
    ti.reset()


def carries_derivative(name: str) -> bool:
    return name.endswith((".grad", ".dual", ".dual0"))


@pytest.mark.parametrize(("name", "mode"), [*of_lit_tests()])
def test_functions_of_its_lit_test_compute_the_same(name: str, mode: str) -> None:
    compared = 0
    for function in lit_functions(name):
        is_run = (name, function.name) not in NOT_RUN
        outcome = compare(function, mode) if is_run else None
        if outcome is not None:
            distance, start = outcome
            assert distance.agrees, f"{function.name}: {distance}"
            compared += mode == "primal" or any(map(carries_derivative, start.outputs[1]))
    assert compared, f"{name} changes no function of its lit test that has values in mode {mode}"


def text_of(name: str, mode: str) -> tuple[str, Mode]:
    """Return a program, and the mode that it is compiled in; the derivative of a function of
    tensors is a program itself."""
    if name in FUNCTIONS:
        return FUNCTIONS[name](mode).ir("field"), PRIMAL
    kernel, arguments = KERNELS[name]()
    return kernel.ir(*arguments), MODES[mode]


@pytest.mark.parametrize(
    ("kernel", "machine", "mode"),
    sorted({(kernel, machine, mode) for (_, mode), (kernel, machine) in WALKED.items()}),
)
def test_kernels_compute_the_same_behind_each_pass(kernel: str, machine: str, mode: str) -> None:
    ti.init(arch=ti.cpu, opt_level=1, **MACHINES[machine])
    current = program()
    current.config.thread_worth = 1
    text, text_mode = text_of(kernel, mode)
    key = kernel, machine
    names = {name for (name, its), place in WALKED.items() if place == key and its == mode}
    is_simt = machine == "simt"
    stages = simt_stages if is_simt else lambda mode: current.executor.stages(mode, current.config)
    changes = [*walk(text, stages(text_mode), frozenset(names))]
    changing = {change.name for change in changes}
    assert changing <= names
    assert changing == names or not all(map(has, Feature))  # some passes are for features of a host
    for change in changes:
        assert change.distance.agrees, f"{change.name}: {change.distance}"


def run_of(text: str) -> KernelRun:
    with context():
        return KernelRun(parsed(text), None, "-", program())


X = np.linspace(0.25, 1.75, 64, dtype=np.float32)
D = X.reshape(1, 64) * np.linspace(0.5, 1.0, 8, dtype=np.float32).reshape(8, 1)
S = np.where(np.arange(32) % 8 < 3, np.float32(1.5), np.float32(0))
NUMBERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "custom": ({"x": X[:16]}, {"y": np.minimum(X[:16], 1) * 3 * X[:16] ** 2}),
    "sparse": ({"s": S}, {"total": (S**2).sum() * np.float32(0.5)}),
    "guarded": ({"x": X[:32]}, {"x": X[:32] ** 2}),
    "dots": (
        {"x": D, "y": X, "z": X[:8]},
        {"z": (D * X + D).sum(1) * (np.sqrt(D) * X[:8, None]).sum(1)},
    ),
    "serial": ({"x": X[:32]}, {"x": np.cumsum(X[:32] ** 2)}),
}


@pytest.mark.parametrize("arch", ["x64", "simt"])
@pytest.mark.parametrize("name", NUMBERS)
def test_kernels_compute_what_numpy_does(name: str, arch: str) -> None:
    ti.init(arch=arch, opt_level=1)
    kernel, arguments = KERNELS[name]()
    run = run_of(kernel.ir(*arguments))
    inputs, expected = NUMBERS[name]
    values = dict(zip(run.arguments, map(np.float32, arguments)))
    outputs = run.run(Inputs({n: np.asarray(v) for n, v in values.items()}, inputs))
    for field, numbers in expected.items():
        np.testing.assert_allclose(outputs[field], numbers, rtol=1e-5)


@pytest.mark.parametrize("name", ["stencil", "loops", "dots", "serial", "sparse", "ordered"])
def test_derivatives_are_those_of_differences(name: str) -> None:
    """Differentiated from one state, in both modes."""
    kernel, arguments = KERNELS[name]()
    with context():
        module = parsed(kernel.ir(*arguments))
    derivatives = KernelDerivatives(module, None, "-", program())
    generator = np.random.default_rng(1)
    fields = {
        field: np.asarray(generator.uniform(0.6, 1.4, slot.shape or ()), slot.dtype.numpy)
        for field, slot in derivatives.primal.fields.items()
    }
    slots = derivatives.primal.arguments.items()
    values = {n: 3 if s.shape is None else np.float32(0.1) for n, s in slots}
    comparisons = KernelCheck(derivatives, Inputs(values, fields), 0).comparisons()
    assert comparisons
    assert not [str(comparison) for comparison in comparisons if not comparison.agrees]


@pytest.mark.parametrize("name", sorted(ON_FUNCTIONS))
def test_derivatives_of_functions_behind_a_pass_are_those_of_differences(name: str) -> None:
    compared = 0
    for function in of_functions(name):
        try:
            values = function.values()
            comparisons = Program(function.function, values).compare(0)
        except TaichiCompilationError:
            continue  # of what is refused there is no derivative
        assert not [str(c) for c in comparisons if not c.agrees], function.name
        compared += bool(comparisons)
    assert compared, f"no function of the lit test of {name} takes floats"


@pytest.mark.parametrize("name", sorted(ON_TENSORS))
@pytest.mark.parametrize("source", ["primal", "reverse"])
def test_definitions_of_tensors_compute_the_same(name: str, source: str) -> None:
    """As they are, and what their reverse is."""
    lit_name, before = name, None
    if source == "reverse" and name != "join-row-loops":
        lit_name, before = "differentiate-te", "builtin.module(differentiate-te)"
    compared = 0
    for function in lit_functions(lit_name):
        if before is not None:
            function = function._replace(before=before, tested=f"builtin.module({name})")
        is_run = (lit_name, function.name) not in NOT_RUN
        outcome = compare(function, "primal") if is_run else None
        if outcome is not None:
            assert outcome[0].agrees, f"{function.name}: {outcome[0]}"
            compared += 1
    assert compared


def test_tables_name_passes() -> None:
    """A pass that is gone is gone here too; one that is named is run in one place."""
    named = {*EXEMPT, *ON_FUNCTIONS, *ON_TENSORS, *NEEDED, *WITHOUT, *(n for n, _ in WALKED)}
    assert not named - {*pass_names()}
    assert not {*EXEMPT} & ({*ON_FUNCTIONS} | {*NEEDED} | {n for n, _ in WALKED})
