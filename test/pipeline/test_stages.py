"""Every stage of every mode leaves what the next one knows, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

import pytest
from programs.inplace import Writer as InPlace
from programs.load import load
from programs.plain import Writer

import mlirad as ti
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import TaichiCompilationError
from mlirad.kernel.array_arguments import copy_of
from mlirad.lang.kernels.kernel import Kernel
from mlirad.pipeline.mode import parse_mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import cpu_stages
from mlirad.pipeline.stages.gpu import OUTLINED, cuda_stages, simt_stages
from mlirad.pipeline.stages.legal import LEGAL, illegal
from mlirad.pipeline.stages.stage import Stage, join

MODES = (
    "primal",
    "validation-anomaly",
    "reverse",
    "anomaly-reverse",
    "stored-reverse",
    "forward2",
    "constant",
    "forward-reverse",
    "collisions",
    "collisions-tangents",
)


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    yield
    ti.reset()


def ways(name: str) -> dict[str, list[Stage]]:
    """The stages of a mode to each target."""
    mode = parse_mode(name)
    return {
        "cpu": cpu_stages(mode, threads=2, check_bounds=True),
        "simt": simt_stages(mode, check_bounds=True),
        "cuda": cuda_stages(mode, check_bounds=True),
    }


def check_stages(kernel: Any) -> int:
    """Look at every stage of every mode to every target; how many there were."""
    arguments = [0] * len(signature(kernel.function).parameters)
    text = kernel.ir(*arguments, stage="field", generic=True)
    seen = 0
    for name in MODES:
        module = ir.Module.parse(text, context())
        assert not list(illegal(module.operation, "field"))
        targets = ways(name)
        shared = [stage for stage in targets["cpu"] if stage.name not in ("memref", "target")]
        try:
            seen += check(module, "cpu", shared)
        except TaichiCompilationError as refused:  # also where a tape launches its parts
            assert name != "primal", refused
            continue
        for target, stages in targets.items():
            seen += check(copy_of(module), target, stages[len(shared) :])
    return seen


def check(module: ir.Module, target: str, stages: list[Stage]) -> int:
    """Run stages, and look at what each leaves; how many there were."""
    for stage in stages:
        run_pipeline(module.operation, join([stage]))
        wrong = illegal(module.operation, stage.name, target)
        found = [f"{op.name} at {op.location}" for op in wrong]
        assert not found, f"{target}, {stage.name}: {found[:3]}"
    return len(stages)


@pytest.mark.parametrize("source", [Writer(Random(11)).program(), InPlace(Random(5), 2).program()])
def test_random_programs(source: str, tmp_path: Path) -> None:
    program = load(source, tmp_path)
    kernels = [one for one in vars(program).values() if isinstance(one, Kernel)]
    assert kernels and sum(check_stages(kernel) for kernel in kernels) > 40 * len(kernels)


@pytest.mark.parametrize("name", ["print", "assert", "custom", "random", "transform"])
def test_what_random_programs_lack(name: str) -> None:
    x = ti.field(ti.f64, 8, needs_grad=True)

    @ti.func
    def square(a: ti.f64) -> ti.f64:
        return a * a

    slope = ti.ad.grad(square)

    @ti.func
    def own(a: ti.f64) -> ti.f64:
        return ti.exp(a)

    @own.def_vjp
    def own_vjp(g: ti.f64, r: ti.f64, a: ti.f64) -> ti.f64:
        return g * r

    @ti.kernel
    def kernel():
        for i in x:
            if ti.static(name == "print"):
                print("x", x[i], i)
            if ti.static(name == "assert"):
                assert x[i] < 3.0, "too large"
            if ti.static(name == "custom"):
                x[i] = own(x[i])
            if ti.static(name == "random"):
                x[i] += ti.random(ti.f64)
            if ti.static(name == "transform"):
                x[i] = slope(x[i])

    assert check_stages(kernel) > 40


def test_the_list_is_complete() -> None:
    """There is a line for every stage of every target."""
    names = {stage.name for mode in MODES for stage in ways(mode)["cpu"]} | {"field"}
    assert set(LEGAL["cpu"]) == names
    assert set(LEGAL["simt"]) == set(LEGAL["cuda"]) == names | {OUTLINED}
