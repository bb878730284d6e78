"""Mistakes of beginners: an error or a warning, with its line and what to write instead."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

HEAD = """
import numpy as np
import mlirad as ti

ti.init(default_fp=ti.f32)
x = ti.field(ti.f32, shape=8, needs_grad=True)
y = ti.field(ti.f32, shape=8)
loss = ti.field(ti.f32, shape=(), needs_grad=True)
weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
"""


def kernel(body: str, parameters: str = "", result: str = "", call: str = "k()") -> str:
    """A program with a kernel of one line, and its call."""
    return f"@ti.kernel\ndef k({parameters}){result}:\n    {body}\n\n{call}\n"


MISTAKES = {
    "enumerate": (
        kernel("for i, v in enumerate(x): loss[None] += v"),
        "for i in x: gives the index",
    ),
    "sum": (kernel("loss[None] = sum(x)"), r"total \+= x\[i\]"),
    "zip": (kernel("for a, b in zip(x, y): loss[None] += a * b"), "gives the index i of"),
    "sorted": (kernel("z = sorted(x)"), "visits its elements"),
    "len": (kernel("loss[None] = len(x)"), r"x.shape\[0\]"),
    "no kernel": (
        "def k():\n    for i in x:\n        loss[None] += x[i]\nk()",
        "forget @ti.kernel",
    ),
    "tape of inputs": ("ti.ad.Tape(loss, x)", r"one loss.* x.grad has that of x"),
    "backward": (
        kernel("for i in x: loss[None] += x[i]", call="with ti.ad.Tape(loss) as t: k()")
        + "t.backward()",
        r"no attribute 'backward': the end of its block",
    ),
    "array annotation": (kernel("a[0] = 1", "a: np.ndarray"), r"ti.types.ndarray\(\)"),
    "number annotation": (kernel("x[0] = a", "a: np.float64"), "write ti.f64"),
    "list annotation": (kernel("x[0] = a[0]", "a: list"), r"ti.template\(\) takes Python objects"),
    "field and number": ("loss + 1", r"x\[None\] is its number"),
    "number and field": ("2 * x", r"x\[i\] is an element"),
    "field and field": ("x / y", "Python cannot compute with it"),
    "comparison of fields": ("x < 3", "Python cannot compute with it"),
    "negative field": ("-x", "Python cannot compute with it"),
    "format": ("f'{loss:.3f}'", r"x\[None\] is its number"),
    "list at run time": (
        kernel("for i in x: x[i] = weights[i]"),
        "into a field, or pass them as an argument of type",
    ),
    "typo": ("ti.feild(ti.f32, 3)", "did you mean 'field'"),
    "unused stop_grad": (kernel("for i in x: ti.stop_grad(x[i])"), "the result is not used"),
    "math": (kernel("for i in x: x[i] = np.sin(x[i])"), "use ti.sin"),
    "print of a field": (kernel("print(x)"), r"its elements are x\[i\]"),
    "time": ("import time\n" + kernel("x[0] = time.time()"), "pass what it gives as an argument"),
    "missing type": (kernel("x[0] = a", "a", call="k(1)"), "must be type annotated"),
    "undefined name": (kernel("x[0] = z"), 'Name "z" is not defined'),
    "wrong number of arguments": (kernel("x[0] = a", "a: ti.f32"), "Parameter .* missing"),
    "wrong index rank": (kernel("x[0, 1] = 1.0"), "index"),
}


@pytest.mark.parametrize(("program", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_with_a_cure(program: str, cure: str, tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(HEAD + program)
    code = compile(source.read_text(), str(source), "exec")
    with pytest.raises(Exception, match=cure) as caught:
        exec(code, {"__name__": "program"})
    assert "ast." not in str(caught.value)


def test_a_fraction_that_a_result_loses_warns() -> None:
    @ti.kernel
    def lossy() -> ti.i32:
        return 30.4

    ti.init()
    with pytest.warns(UserWarning, match="Assign may lose precision: i32 <- f32"):
        assert lossy() == 30


def test_decorators_may_be_called() -> None:
    ti.init()
    x = ti.field(ti.i32, 4)

    @ti.func()
    def double(value):
        return 2 * value

    @ti.kernel()
    def run():
        for i in x:
            x[i] = double(i)

    run()
    assert x.to_numpy().tolist() == [0, 2, 4, 6]


def test_arrays_of_other_libraries_compute_with_fields() -> None:
    """NumPy converts a field, on either side."""
    ti.init()
    x = ti.field(ti.f32, 3)
    x.fill(2.0)
    values: Any = np.array([1.0, 2.0, 3.0], np.float32)
    assert (x * values).tolist() == (values * x).tolist() == [2, 4, 6]
    assert not np.iterable(x)


def test_root_has_no_attributes_before_init() -> None:
    ti.reset()
    assert not hasattr(ti.root, "dense")
    with pytest.raises(ti.TaichiRuntimeError, match=r"ti.init\(\) has not been called"):
        ti.root.dense(ti.i, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ti.init()
    assert hasattr(ti.root, "dense")
