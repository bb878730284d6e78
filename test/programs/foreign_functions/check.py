"""A random function, run and differentiated, against upstream's own lowering and differences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

import mlirad as ti
from mlirad.mlir.run.derivatives import Comparison, Program
from programs.foreign_functions import upstream

STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
ROUGH_STEPS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
STEEP = 1e5  # a derivative that differences are not good for


class Function(Protocol):
    """What a generator writes; the numbers of a `is_rough` function are f32 in places."""

    text: str
    arguments: list[np.ndarray | int]
    is_rough: bool


class Outcome(NamedTuple):
    """`right`, `unclear`, `refused`, `wrong`, or `invalid` (no program), and why."""

    kind: str
    message: str = ""


def outcome(function: Function, seed: int) -> Outcome:
    """Check one function."""
    try:
        expected = upstream.outputs(function.text, function.arguments)
    except Exception as error:
        return Outcome("invalid", f"{type(error).__name__}: {error}")
    machine = ti.simt if seed % 16 == 15 else None  # what tests run on
    ti.init(machine, default_fp=ti.f64, log_level="error", offline_cache=False, opt_level=seed % 4)
    try:
        program = Program(ti.mlir.parse(function.text, "f"), function.arguments)
        return _compare(program, expected, seed, is_rough=function.is_rough)
    except (ti.TaichiCompilationError, ti.TaichiRuntimeError) as error:
        return Outcome("refused", str(error))
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {error}")
    finally:
        ti.reset()


def _compare(
    program: Program, expected: Sequence[np.ndarray], seed: int, *, is_rough: bool
) -> Outcome:
    program.run()
    values = [np.asarray(array.to_numpy(), np.float64) for array in program.outputs]
    if not all(np.isfinite(v).all() for v in expected):
        return Outcome("unclear", "numbers that are not finite")
    for number, (value, other) in enumerate(zip(values, expected, strict=True)):
        error = np.abs(value - other).max(initial=0) / (1 + np.abs(other).max(initial=0))
        if not error < (1e-4 if is_rough else 1e-9):
            return Outcome("wrong", f"output {number}: {value.tolist()} for {other.tolist()}")
    if not program.active:
        return Outcome("right")
    comparisons = program.compare(seed)
    differing = [k for k, comparison in enumerate(comparisons) if not comparison.agrees]
    verdicts = [_again(program, comparisons, k, seed, is_rough=is_rough) for k in differing]
    worst = [verdict for verdict in verdicts if verdict.kind == "wrong"] or verdicts
    return next((v for v in worst if v.kind != "right"), Outcome("right"))


def _again(
    program: Program, comparisons: Sequence[Comparison], number: int, seed: int, *, is_rough: bool
) -> Outcome:
    """Judge a comparison that does not agree, by more steps."""
    comparison = comparisons[number]
    modes = np.array([comparison.reverse, comparison.forward])
    scale = 1 + np.abs(modes).max()
    share = 3e-2 if is_rough else 1e-4
    if not np.ptp(modes) < (1e-2 if is_rough else 1e-6) * scale:
        return Outcome("wrong", f"modes differ: {comparison}")
    difference = _differences(program, number, seed)
    steps = ROUGH_STEPS if is_rough else STEPS
    found = np.array([difference(step) for step in steps])
    if (np.abs(found - modes[0]) < share * scale).any():
        return Outcome("right")
    if np.abs(modes).max() > STEEP or np.abs(found).max() > STEEP:
        return Outcome("unclear", f"a steep function: {comparison}")
    middle = np.sort(found)[1:-1]
    if np.ptp(middle) > share * scale:
        return Outcome("unclear", f"steps differ: {comparison}, {found}")
    return Outcome("wrong", f"{comparison}, steps: {found}")


def _differences(program: Program, number: int, seed: int) -> Callable[[float], float]:
    """Return the difference of a step, along the direction of a comparison."""
    generator = np.random.default_rng(seed)
    heads = [_random(generator, output) for output in program.outputs]
    directions = [
        (position, _random(generator, program.inputs[position]))
        for position in range(len(program.active))
        for _ in range(3)
    ]
    position, direction = directions[number]
    zeros = [np.zeros(array.shape, array.dtype.numpy) for array in program.inputs]
    zeros[position] = direction
    return lambda step: program._difference(zeros, step, heads)


def _random(generator: np.random.Generator, array: ti.Ndarray) -> np.ndarray:
    return np.asarray(generator.uniform(-1, 1, array.shape), array.dtype.numpy)


def family(message: str) -> str:
    """Return a message without names, numbers and places."""
    line = next(iter(message.splitlines()), "")
    line = re.sub(r"'[^']*memref<[^']*'", "'memref'", re.sub(r"^\S*:\d+:\d+:? ?", "", line))
    return re.sub(r"\d+", "N", line)
