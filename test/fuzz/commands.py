"""Random command lines: passes of ours and upstream's with random options, pipelines, forms of
output."""

from __future__ import annotations

import random

from mlirad.pipeline.mode import PRIMAL, REVERSE
from mlirad.pipeline.options import Option, options_of
from mlirad.pipeline.registry import find_pass, pass_names, runs_on_modules_only
from mlirad.pipeline.stages.cpu import cpu_stages
from mlirad.pipeline.stages.gpu import cuda_stages

UPSTREAM = (
    "canonicalize",
    "cse",
    "func.func(mem2reg)",
    "convert-scf-to-cf",
    "convert-scf-to-openmp",
    "gpu-kernel-outlining",
    "lower-affine",
    "symbol-dce",
    "inline",
)
WRONG = ("0", "-1", "1000000", "", "two", "99999999999999999999", "true")


def arguments(chance: random.Random) -> list[str]:
    """The options of one run."""
    kind = chance.random()
    if kind < 0.12:
        stages = [
            cpu_stages(chance.choice((PRIMAL, REVERSE)), threads=chance.choice((1, 2))),
            cuda_stages(chance.choice((PRIMAL, REVERSE))),
        ][chance.random() < 0.4]
        steps = [stage.passes for stage in stages]
        first = chance.randrange(len(steps))
        text = ",".join(steps[first : chance.randrange(first, len(steps)) + 1])
    elif kind < 0.2:  # in the order of the pipelines, so that late passes meet what they are for
        text = (
            "check-access-rules,differentiate-reverse,lower-grad-logs,lower-grad-to-memref,"
            + _step(chance)
        )
    else:
        text = ",".join(_step(chance) for _ in range(chance.choice((1, 1, 2, 3))))
    form = chance.choices(("mlir", "llvm", "ptx", "amdgpu", "bytecode"), (20, 3, 1, 1, 1))[0]
    extra = [
        "--mlir-print-op-generic",
        "--mlir-print-debuginfo",
        "--allow-unregistered-dialect",
        "--verify-diagnostics",
    ]
    return [
        f"-pass-pipeline=builtin.module({text})",
        f"--emit={form}",
        *[word for word in extra if chance.random() < 0.04],
    ]


def foreign_arguments(chance: random.Random) -> list[str]:
    """The options of one run on functions that others wrote: their pipeline, and a derivative."""
    gradients = chance.choice(("", "=gradients=true", "=gradients=true"))
    behind = chance.choice(
        (
            [],
            ["--check-access-rules", "--differentiate-reverse"],
            ["--differentiate-forward"],
            [f"--{chance.choice(pass_names())}"],
        )
    )
    return [f"--function-pipeline{gradients}", *behind]


def _step(chance: random.Random) -> str:
    if chance.random() < 0.2:
        return chance.choice(UPSTREAM)
    name = chance.choice(pass_names())
    function = find_pass(name)
    given = [
        f"{key}={_value(option, chance)}"
        for key, option in options_of(function, name).items()
        if chance.random() < 0.5
    ]
    step = f"{name}{{{' '.join(given)}}}" if given else name
    nested = not runs_on_modules_only(function) and chance.random() < 0.2
    return f"func.func({step})" if nested else step


def _value(option: Option, chance: random.Random) -> str:
    if chance.random() < 0.04:
        return chance.choice(WRONG)
    if option.kind is bool:
        return chance.choice(("true", "false"))
    if option.kind is int:
        return chance.choice(("0", "1", "2", "3", "16", "1024"))
    return chance.choice(
        [
            str(option.default),
            *str(option.limit).partition(" of ")[2].partition(", joined")[0].split(", "),
        ]
    )
