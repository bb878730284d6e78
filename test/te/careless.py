"""`python -m te.careless`, in `test/`: every public function of tensor expressions, with each of
its arguments in turn replaced by what nobody should give it. What is no result has to be an error
of ours that names a place, the function and one of its arguments."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from te.careless_calls import Call, calls

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError

OURS = str(Path(__file__).with_name("careless"))  # this file, and that of the calls
BY_FUNCTIONS = ("te.compute", "te.scan", "te.comm_reducer", "te.Schedule")
PLACE = re.compile(rf"^{re.escape(OURS)}\w*\.py:\d+:\d+: ")


def launches() -> dict[str, Call]:
    """Calls of built functions."""
    n = te.var("n")
    x, y = te.placeholder((4,), ti.f32, "x"), te.placeholder((n,), ti.f32, "y")
    f = te.build(te.compute((4,), lambda i: 2.0 * x[i]), [x], "f")
    g = te.build([te.compute((n,), lambda i: 2.0 * y[i] + x[0])], [x, y], "g")
    four, five = np.ones(4, np.float32), np.ones(5, np.float32)
    return {
        "f": Call(f, four),
        "g": Call(g, four, five, out=[np.empty(5, np.float32)]),
        "out": Call(lambda v: f(four, out=v), np.empty(4, np.float32)),
        "an output": Call(lambda v: g(four, five, out=[v]), np.empty(5, np.float32)),
    }


def wrong_values() -> list[Any]:
    """What nobody should give."""
    frozen = np.ones(4, np.float32)
    frozen.flags.writeable = False
    other = te.placeholder((7, 2, 1), ti.f64, "other")
    integers = te.placeholder((4, 3), ti.i64, "integers")
    flags = te.placeholder((4, 3), ti.u1, "flags")
    return [
        None, True, 0, -1, 2, 1 << 70, 1.5, float("nan"), float("inf"), 1j, "x", "", b"x", ...,
        [], (), {}, set(), [1, 2], [None], ["i"], [[1, 2], [3, 4]], {"i": 1}, {1: 2}, object(),
        np.float32(1), np.int64(2), np.bool_(True), np.array(2), np.ones(3), np.ones((4, 3), "i4"),
        np.ones(4, np.complex64), np.array(["a"] * 4), np.array([None] * 4), frozen,
        np.ones(8, np.float32)[::2], np.ones(0, np.float32), np.ones(4, ">f4"), slice(0, 2), int,
        float, np.float16, "f32", lambda: 0, lambda *_: None, lambda *_: "no",
        lambda *, i: 0, lambda **_: 0, lambda i, j, k, l: 0, lambda *_: [], lambda *_: 1.0,
        (i for i in range(3)), range(3), other, integers, flags, te.var("m"), te.reduce_axis(3),
        te.reduce_axis(0), te.Schedule(), te.Schedule, te, other[0, 0, 0], other[0, 0, 0] > 0,
        te.sum(other[0, 0, 0], te.reduce_axis(2)),
    ]  # fmt: skip


def failures(of: dict[str, Call], values: Sequence[Any], shown: bool = False) -> list[str]:
    """The calls that gave neither a result nor an error of ours with a place."""
    found = []
    for name, call in of.items():
        tried = [
            (f"{name}, {what}: {short(value)}", wrong)
            for value in values
            for what, wrong in call.wrong(value)
        ]
        for text, wrong in [*tried, *((f"{name}, {what}", c) for what, c in call.miscounted())]:
            try:
                wrong()
                if shown:
                    print(f"{text}: accepted")
            except (TaichiCompilationError, TaichiRuntimeError) as error:
                if not PLACE.match(str(error)):
                    found.append(f"{text}: no place: {type(error).__name__}: {error}")
                elif not names_an_argument(str(error).splitlines()[0], name, call.function):
                    found.append(f"{text}: no argument: {error}")
                elif shown:
                    print(f"{text}: {str(error).splitlines()[0]}")
            except Exception as error:  # every other one is a failure, but for the program's own
                is_of_a_class = "<class" in text and isinstance(error, TypeError)  # which is called
                if not place_of(error).startswith(OURS) and not is_of_a_class:
                    found.append(f"{text}: {type(error).__name__}: {error}")
    return found


def names_an_argument(text: str, name: str, function: Any) -> bool:
    """Whether an error says which function was given what; those of functions of the program speak
    of what these say."""
    if name in BY_FUNCTIONS or not re.fullmatch(r"(te|nn)\.\w+", name):
        return True
    parameters = [*signature(function).parameters, "arguments?"]
    said = text[text.index(": ") + 2 :]
    return name.rpartition(".")[2] in said and bool(
        re.search(rf"\b({'|'.join(parameters)})\b", said)
    )


def place_of(error: BaseException) -> str:
    """The file in which an error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else trace.tb_frame.f_code.co_filename


def short(value: Any) -> str:
    """A value in a few letters."""
    return " ".join(repr(value).split())[:60]


def main() -> int:
    """1 if there was any."""
    ti.init()
    found = failures({**calls(), **launches()}, wrong_values(), shown="-v" in sys.argv)
    print(*found, f"{len(found)} failures", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
