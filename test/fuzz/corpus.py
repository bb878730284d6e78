"""The programs that are mutated: every chunk of every lit test, and dumps of kernels at every
stage."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from programs.enzyme import situations
from programs.foreign_functions import KINDS

import mlirad as ti
from fuzz.commands import arguments, foreign_arguments
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import MLIRError
from mlirad.pipeline.mode import PRIMAL, REVERSE, parse_mode
from mlirad.pipeline.opt import SEPARATOR
from mlirad.pipeline.opt.chunk import Chunk
from mlirad.pipeline.opt.source_text import chunks
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import cpu_stages
from mlirad.pipeline.stages.gpu import cuda_stages
from mlirad.pipeline.stages.stage import Stage, join

TESTS = Path(__file__).parents[1]
FOREIGN = 40  # random functions of each kind


@dataclass(frozen=True)
class Corpus:
    """Programs that can be parsed, those that cannot, and what gives a command line for one."""

    right: list[str]
    wrong: list[str]
    options: Callable[[random.Random], list[str]] = arguments

    def pick(self, chance: random.Random) -> str:
        """One of them, mostly one that passes can run on."""
        return chance.choice(self.right if chance.random() < 0.95 else self.wrong)


def foreign_programs() -> Corpus:
    """Functions over memrefs and tensors, as others write them."""
    texts = [_without_comments(situation.text) for situation in situations()]
    texts += [KINDS[kind](number).text for kind in KINDS for number in range(FOREIGN)]
    return Corpus(
        [text for text in texts if is_program(text)],
        [text for text in texts if not is_program(text)] or texts[:1],
        foreign_arguments,
    )


def programs() -> Corpus:
    """All programs, without their comments, in a fixed order."""
    texts = [
        part
        for path in sorted(TESTS.rglob("*.mlir"))
        for part in chunks(path.read_text(), SEPARATOR)
    ]
    bare = [text for text in map(_without_comments, [*texts, *dumps()]) if text.strip()]
    return Corpus(
        [text for text in bare if is_program(text)], [text for text in bare if not is_program(text)]
    )


def is_program(text: str) -> bool:
    """Whether a text can be parsed."""
    try:
        with context().attach_diagnostic_handler(lambda diagnostic: True):
            Chunk(text, "-").reading().module()
    except (MLIRError, ir.MLIRError):
        return False
    return True


def dumps() -> list[str]:
    """Kernels with loops, branches, history and vectors, at every stage, in both modes."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=2, default_fp=ti.f64)
    x = ti.field(ti.f64, 64, needs_grad=True)
    y = ti.Vector.field(2, ti.f64, shape=(8, 8), needs_grad=True)
    z = ti.field(ti.f64, 32, needs_grad=True)
    total = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def carried(n: ti.i32, scale: ti.f64):
        for i in x:
            value = x[i]
            for k in range(n):
                value = ti.sin(value) * scale + x[(i + k) % 64]
                if value > 0.5:
                    value -= 0.25
            total[None] += value

    @ti.kernel
    def scattered():
        for i, j in y:
            root = 1.0
            while root * root > 2.0 + y[i, j][0]:
                root *= 0.5
            y[i, j] += ti.Vector([x[i], x[j]]) * root
            z[(i * 8 + j) % 32] += root

    found = []
    for kernel, passed in ((carried, (3, 0.5)), (scattered, ())):
        for mode in ("primal", "reverse"):
            stages = ["field", *(stage.name for stage in cpu_stages(parse_mode(mode)))]
            found += [
                kernel.ir(*passed, stage=stage, mode=mode, locations=True) for stage in stages
            ]
    ti.reset()
    return found + [
        text
        for derived in (PRIMAL, REVERSE)
        for stages in (cpu_stages(derived, threads=2), cuda_stages(derived))
        for text in _steps(stages)
    ]


def _steps(stages: list[Stage]) -> list[str]:
    """A small kernel after every pass of a pipeline that changes it."""
    found: list[str] = []

    def keep(_: str, op: ir.Operation) -> None:
        while op.parent is not None:
            op = op.parent.operation
        if not found or str(op) != found[-1]:
            found.append(str(op))

    module = ir.Module.parse(KERNEL, context())
    run_pipeline(module.operation, join(stages), observer=keep)
    return found


KERNEL = """
"snode.root"() ({
  "snode.dense"() ({
    "snode.place"() {sym_name = "x", element = f32, component_shape = [2],
                    adjoint = @x.grad} : () -> ()
    "snode.place"() {sym_name = "x.grad", element = f32, component_shape = [2]} : () -> ()
  }) {axes = [0], extents = [4096]} : () -> ()
  "snode.place"() {sym_name = "y", element = f32, component_shape = [],
                  adjoint = @y.grad} : () -> ()
  "snode.place"() {sym_name = "y.grad", element = f32, component_shape = []} : () -> ()
}) {sym_name = "S0"} : () -> ()
func.func @f(%n: index, %a: !field.array<f32, [-1]>) {
  %x = "field.get"() {field = @x} : () -> !field.array<f32, [4096, 2]>
  %y = "field.get"() {field = @y} : () -> !field.array<f32, []>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant 4096 : index
  scf.parallel (%i) = (%c0) to (%m) step (%c1) {
    %v = "field.load"(%x, %i, %c0) : (!field.array<f32, [4096, 2]>, index, index) -> f32
    %w = scf.for %k = %c0 to %n step %c1 iter_args(%s = %v) -> (f32) {
      %u = "field.load"(%a, %k) : (!field.array<f32, [-1]>, index) -> f32
      %p = arith.mulf %s, %u : f32
      %q = math.sin %p : f32
      scf.yield %q : f32
    }
    "field.print"(%w) {format = "{}"} : (f32) -> ()
    %big = arith.cmpf ogt, %w, %v : f32
    "field.assert"(%big, %w) {message = "{}"} : (i1, f32) -> ()
    "field.store"(%w, %x, %i, %c1) : (f32, !field.array<f32, [4096, 2]>, index, index) -> ()
    %old = "field.atomic"(%w, %y) {kind = "add"} : (f32, !field.array<f32, []>) -> f32
  }
  return
}
"""


def _without_comments(text: str) -> str:
    lines = [
        line.partition(" //")[0] for line in text.splitlines() if not line.lstrip().startswith("//")
    ]
    return "\n".join(line for line in lines if line.strip()) + "\n"
