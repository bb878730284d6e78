"""Modules that `kernel.ir()` printed, run at every stage: what they compute is what Python's launch
of the kernel computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.pass_walks import parsed

import mlirad as ti
from mlirad.dialect import context
from mlirad.mlir.run.command import main
from mlirad.mlir.run.kernels.entry import label_arguments
from mlirad.mlir.run.kernels.kernel_run import Inputs, KernelRun
from mlirad.runtime.program import program

X, W = np.linspace(0.5, 2.0, 8), np.linspace(-1.0, 1.0, 8)
CPU_STAGES, GPU_STAGES = ("field", "normal", "memref", "target"), ("memref", "outlined", "target")


class Kernel:
    """A kernel with its fields, and the arguments that it is launched with."""

    def __init__(self, kernel: Any, fields: dict[str, Any], *arguments: Any) -> None:
        self.kernel, self.fields, self.arguments = kernel, fields, arguments


def dense(dtype: Any) -> Kernel:
    """Fields, an array that is written to, a scalar, and a result."""
    x, y = ti.field(dtype, 8), ti.field(dtype, ())

    @ti.kernel
    def scaled(a: dtype, w: ti.types.ndarray(dtype, ndim=1)) -> dtype:
        for i in x:
            x[i] = x[i] * w[i] + a
        for i in range(8):
            y[None] += x[i] * x[i]
            w[i] = x[i]
        return a * 2

    x.from_numpy(X.astype(dtype.numpy))
    return Kernel(scaled, {"x": x, "y": y}, 1.5, W.astype(dtype.numpy))


def structs(dtype: Any) -> Kernel:
    """Members of structs beside each other, a vector and an integer among them."""
    particle = ti.types.struct(m=dtype, v=ti.types.vector(2, dtype), n=ti.i32)
    p = particle.field(shape=(2, 4))

    @ti.kernel
    def push(n: ti.i32):
        for i, j in p:
            p[i, j].v += p[i, j].m * ti.Vector([i, j])
            p[i, j].n += n * i + j

    p.m.from_numpy(X.reshape(2, 4).astype(dtype.numpy))
    return Kernel(push, {"p.m": p.m, "p.v": p.v, "p.n": p.n}, 3)


def sparse(dtype: Any) -> Kernel:
    """Cells that are active, and one that becomes so."""
    s, total = ti.field(dtype), ti.field(dtype, ())
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(s)
    for i in (2, 3, 6):
        s[i] = X[i]

    @ti.kernel
    def sum_up(a: dtype):
        for i in s:
            total[None] += s[i]
        s[0] = a

    return Kernel(sum_up, {"s": s, "total": total}, 2.5)


PROGRAMS: dict[str, Callable[[Any], Kernel]] = {
    function.__name__: function for function in (dense, structs, sparse)
}


def ran(text: str, machine: Any, inputs: dict[str, Any], arguments: Any, **options: Any) -> Any:
    """Return what a module computes on the fields and arguments."""
    with context():
        module = parsed(text)
    run = KernelRun(module, None, "-", machine, **options)
    values = {
        number: np.asarray(value, slot.dtype.numpy) if slot.shape is not None else value
        for (number, slot), value in zip(run.arguments.items(), arguments)
    }
    return run.run(Inputs(values, inputs))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("arch", [ti.cpu, ti.simt])
def test_every_stage_computes_what_python_launched(name: str, dtype: Any, arch: str) -> None:
    """As it is lowered on the shortest way, and as kernels are."""
    ti.init(arch=arch, default_fp=dtype, cpu_max_num_threads=1)
    kernel = PROGRAMS[name](dtype)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in kernel.arguments]
    stages = CPU_STAGES if arch == ti.cpu else ("field", "normal", *GPU_STAGES)
    texts = {stage: kernel.kernel.ir(*copies, stage=stage) for stage in stages}
    before = {symbol: field.to_numpy() for symbol, field in kernel.fields.items()}
    result = kernel.kernel(*copies)
    after = {symbol: field.to_numpy() for symbol, field in kernel.fields.items()}
    for stage, text in texts.items():
        for optimize in (False, True):
            outputs = ran(text, program(), before, kernel.arguments, optimize=optimize)
            for symbol, values in after.items():
                np.testing.assert_allclose(outputs[symbol], values, rtol=1e-5, err_msg=stage)
            if result is not None:
                assert outputs["result 0"] == result
            if name == "dense":
                np.testing.assert_allclose(outputs["argument 1"], copies[1], rtol=1e-5)


@pytest.mark.parametrize("stage", ["derived", "memref", "target"])
def test_zeros_that_a_reverse_leaves_are_written(stage: str) -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    n = 200
    x, y = (ti.field(ti.f64, (n, n), needs_grad=True, name=name) for name in ("x", "y"))

    @ti.kernel
    def square():
        for i, j in ti.ndrange((1, n), n):
            y[i, j] = x[i, j] * x[i, j]

    values = np.random.default_rng(3).uniform(0.5, 1, (n, n))
    text = square.ir(stage=stage, mode="reverse")
    assert ("field.later" in text) == (stage != "derived")
    inputs = {"x": values, "y.grad": np.ones((n, n)), "x.grad": np.zeros((n, n))}
    for optimize in (False, True):
        outputs = ran(text, program(), inputs, (), optimize=optimize)
        np.testing.assert_allclose(outputs["x.grad"][1:], 2 * values[1:])
        assert not outputs["y.grad"][1:].any() and outputs["y.grad"][0].all()


FIELDS = """
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f64, component_shape = []} : () -> ()
    "snode.place"() {sym_name = "y", element = f64, component_shape = []} : () -> ()
  }) {axes = [0], extents = [4]} : () -> ()
}) {sym_name = "S0"} : () -> ()
"""
SQUARES = (
    FIELDS
    + """
func.func @squares(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = "field.get"() {field = @x} : () -> !field.array<f64, [4]>
  %y = "field.get"() {field = @y} : () -> !field.array<f64, [4]>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = "field.load"(%x, %i) : (!field.array<f64, [4]>, index) -> f64
    %p = arith.mulf %v, %v : f64
    "field.store"(%p, %y, %i) : (f64, !field.array<f64, [4]>, index) -> ()
    scf.reduce
  }
  return
}
"""
)


@pytest.fixture
def squares(tmp_path: Path) -> str:
    """A file whose line 9 begins a kernel of squares, of a field that line 4 places."""
    file = tmp_path / "squares.mlir"
    file.write_text(SQUARES)
    np.save(tmp_path / "x.npy", np.arange(4.0))
    np.save(tmp_path / "single.npy", np.arange(4, dtype=np.float32))
    np.save(tmp_path / "long.npy", np.arange(5.0))
    (tmp_path / "text.npy").write_text("0 1 2 3")
    return str(file)


def test_fields_come_from_files_and_go_to_files(squares: str, capfd: Any) -> None:
    folder = Path(squares).parent
    assert main([squares, "4", "--field", f"x={folder}/x.npy", f"--save={folder}/out"]) == 0
    assert capfd.readouterr().out == "y : 4xfloat64\n[0. 1. 4. 9.]\n"
    assert np.load(folder / "out" / "y.npy").tolist() == [0, 1, 4, 9]


@pytest.mark.parametrize("arch", ["cpu", "simt"])
def test_derivatives_agree_with_differences(squares: str, arch: str, capfd: Any) -> None:
    assert main([squares, "4", "-f", "x=random", "--check", f"--arch={arch}"]) == 0
    assert capfd.readouterr().out.endswith("all 6 derivatives agree\n")


def test_gradients_are_those_of_what_changed(squares: str, capfd: Any) -> None:
    assert main([squares, "3", "-f", "x=arange", "--grad"]) == 0
    assert "gradient x : 4xfloat64\n[0. 2. 4. 0.]\n" in capfd.readouterr().out


def test_passes_run_first(squares: str, capfd: Any) -> None:
    reverse = ["--check-access-rules", "--differentiate-reverse"]
    places = 'sym_name = "x", ', 'sym_name = "x", adjoint = @dx, '
    more = FIELDS.replace('"x"', '"dx"').replace('"y"', '"dy"').replace("S0", "S1")
    text = SQUARES.replace(*places).replace('sym_name = "y", ', 'sym_name = "y", adjoint = @dy, ')
    Path(squares).write_text(more + text)
    assert main([squares, "4", "-f", "x=arange", "-f", "dy=ones", *reverse]) == 0
    assert "dx : 4xfloat64\n[0. 2. 4. 6.]\n" in capfd.readouterr().out


def test_runs_with_and_without_passes_are_compared(squares: str, capfd: Any) -> None:
    assert main([squares, "4", "-f", "x=random", "--cse", "--canonicalize", "--compare"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines == [f"{what}: largest difference 0" for what in ("primal", "reverse", "forward")]
    arguments = ["--serialize-inner-loops=outer=true", "--lower-field-to-memref"]
    assert main([squares, "4", "-f", "x=random", *arguments, "--compare"]) == 0
    assert capfd.readouterr().out.splitlines() == ["primal: largest difference 0"]


LOWERED = (
    "{file}:9:1: @squares cannot be differentiated: it is already lowered, to 'llvm.mlir.poison'"
)
FIELD_X = "{file}:4:5: field x "
WRONG = {
    "--entry=cubes": "{file}: there is no public function 'cubes', expected one of: squares",
    "-f z=1": "{file}:9:1: there is no field 'z'; fields: y, x",
    "-f x=two": FIELD_X + "'two': expected a number, random",
    "-f x={folder}/single.npy": "single.npy': it is of float32, expected float64",
    "-f x={folder}/long.npy": "long.npy': it has the shape (5,), expected (4)",
    "-f x={folder}/text.npy": FIELD_X + "'{folder}/text.npy': ",
    "-f x={folder}/none.npy": "[Errno 2] No such file or directory: '{folder}/none.npy'",
    "-f x=random:5xf64": FIELD_X + "'5xf64': expected the extents 4",
    "-f x=random:4xf32": FIELD_X + "'4xf32': expected extents and the element type",
    "4": "{file}:9:1: @squares takes 1 arguments, got 2",
    "--no-such-pass": "'--no-such-pass' is not an option: there is no pass 'no-such-pass'",
    "--hoist-loads=depth=1": "'hoist-loads' has no option 'depth' (options: none)",
    "--lower-field-to-memref --check": LOWERED,
    "--lower-field-to-memref --grad": LOWERED,
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_does_not_fit_is_an_error_at_its_line(
    squares: str, arguments: str, capfd: Any
) -> None:
    names = {"file": squares, "folder": str(Path(squares).parent)}
    assert main([squares, "4", *arguments.format(**names).split()]) == 1
    assert WRONG[arguments].format(**names) in capfd.readouterr().err


def test_an_index_out_of_bounds_is_found_by_a_check(squares: str, capfd: Any) -> None:
    assert main([squares, "5", "-f", "x=random", "--check"]) == 1
    error = capfd.readouterr().err
    assert f"{squares}:15:10: (kernel=squares) Out of bound access" in error


LOCALS = """
func.func @pick(%x: !field.array<f32, [4]>, %y: !field.array<f32, [4]>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %n step %c1 {
    %numbers = memref.alloca() : memref<4xf32>
    scf.for %i = %c0 to %c4 step %c1 {
      %v = "field.load"(%x, %i) : (!field.array<f32, [4]>, index) -> f32
      memref.store %v, %numbers[%i] : memref<4xf32>
    }
    %j = arith.remsi %k, %c4 : index
    %v = memref.load %numbers[%j] : memref<4xf32>
    "field.store"(%v, %y, %j) : (f32, !field.array<f32, [4]>, index) -> ()
  }
  return
}
"""


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("optimize", [False, True])
def test_memory_on_the_stack_does_not_grow_with_iterations(opt_level: int, optimize: bool) -> None:
    """So many that all of it would be more than a stack."""
    ti.init(opt_level=opt_level, cpu_max_num_threads=1)
    with context():
        module = parsed(LOCALS)
        label_arguments(module.operation)
        run = KernelRun(module, "pick", "-", program(), optimize=optimize)
    x = np.linspace(1, 2, 4, dtype=np.float32)
    outputs = run.run(Inputs({0: x, 1: np.zeros_like(x), 2: 1_000_000}, {}))
    np.testing.assert_array_equal(outputs["argument 1"], x)
