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
    "tape of inputs": ("ti.ad.Tape(loss, x)", r"one loss.* x.grad is that of x"),
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
    "print of a field": (kernel("print(x)"), r"print elements x\[i\] here"),
    "time": ("import time\n" + kernel("x[0] = time.time()"), "pass its result as an argument"),
    "missing type": (kernel("x[0] = a", "a", call="k(1)"), "must be type annotated"),
    "undefined name": (kernel("x[0] = z"), 'Name "z" is not defined'),
    "wrong number of arguments": (kernel("x[0] = a", "a: ti.f32"), "Parameter .* missing"),
    "wrong index rank": (kernel("x[0, 1] = 1.0"), "index"),
    "list comprehension": (kernel("z = [v for v in x]"), "Did you forget @ti.kernel"),
    "values of a field": (kernel("print(x.to_numpy())"), r"print\(x\[i\]\) shows it"),
    "time in print": ("import time\n" + kernel("print(time.time())"), "pass its result"),
    "field in a text": (kernel("print(f'{x}')"), r"print elements x\[i\] here"),
    "text of a field": (kernel("print(str(x))"), r"x\[i\] is an element"),
    "from_numpy in a kernel": (kernel("x.from_numpy(np.zeros(8))"), r"x\[i\] = v is a write"),
    "sum of a field": (kernel("loss[None] = x.sum()"), r"use its elements x\[i\]"),
    "field plus field": (kernel("z = x + y"), r"its elements are x\[i\]"),
    "field assigned to an element": (kernel("x[0] = y"), r"its elements are x\[i\]"),
    "field as condition": (kernel("z = 1.0 if x else 2.0"), r"x\[i\] is a scalar"),
    "field updated": (kernel("loss += x[0]"), r"use loss\[i\], or loss\[None\]"),
    "field as a name": (kernel("loss = 2.0 * x[0]"), r"loss\[None\] = ... and"),
    "index of a number": (kernel("loss[0] = 1.0"), r"loss\[None\] is an element"),
    "no index": (kernel("x[None] = 1.0"), r"x\[i\] is an element"),
    "negative index": (kernel("x[-1] = 1.0"), r"x\[x.shape\[0\] - 1\]"),
    "float index": (kernel("x[1.5] = 1.0"), "must be an integer"),
    "slice": (kernel("x[0:3] = 1.0"), r"for i in range\(...\), visits"),
    "text in a field": (kernel("x[0] = 'a'"), "computes with numbers"),
    "loop over a number": (kernel("for i in 10: x[i] = 1.0"), r"range\(n\)"),
    "loop over a shape": (kernel("for i in x.shape: x[i] = 1.0"), r"ti.ndrange\(n, m\)"),
    "float range": (kernel("for i in range(8 / 2): x[i] = 1.0"), "so is n // 2"),
    "append": (kernel("\n    z = []\n    for i in x: z.append(x[i])"), "Use a field or a variable"),
    "try": (kernel("\n    try: x[0] = 1\n    except ValueError: pass"), "catch the error around"),
    "raise": (kernel("raise ValueError('a')"), "assert condition, 'message'"),
    "import": (kernel("\n    import math\n    x[0] = math.pi"), "import modules above"),
    "lambda": (kernel("\n    f = lambda a: a\n    x[0] = f(1.0)"), "define a @ti.func"),
    "class": (kernel("\n    class A: pass"), "@ti.dataclass"),
    "del": (kernel("\n    a = 1\n    del a"), "ends with its block"),
    "yield": (kernel("yield x[0]"), "write values to the elements"),
    "async": ("@ti.kernel\nasync def k(): pass\nk()", "a kernel is a plain 'def'"),
    "set": (kernel("a = {1, 2}"), "a tuple, or a field"),
    "break": (
        kernel("\n    for i in x:\n        if i > 3:\n            break"),
        r"ti.loop_config\(serialize=True\)",
    ),
    "is": (kernel("z = x[0] is y[0]"), "use =="),
    "in": (kernel("z = x[0] in (1.0, 2.0)"), "write out the comparisons"),
    "name of a block": (
        kernel("\n    if x[0] > 0:\n        a = 1.0\n    x[1] = a"),
        "give it a value before that block",
    ),
    "branch of Python": (
        "def f(a):\n    return a if a > 0 else -a\n" + kernel("for i in x: x[i] = f(x[i])"),
        "needs @ti.func",
    ),
    "kernel in a kernel": (
        "@ti.kernel\ndef f(): x[0] = 1\n" + kernel("f()"),
        "make the callee a @ti.func",
    ),
    "result without a type": (kernel("return x[0]"), r"def k\(...\) -> ti.f32"),
    "field annotation": (kernel("a[0] = 1", "a: ti.field"), r"of type ti.template\(\)"),
    "Field annotation": (kernel("a[0] = 1", "a: ti.Field"), r"of type ti.template\(\)"),
    "index of a number argument": (
        kernel("a[0] = 1.0", "a: ti.f32", call="k(1.0)"),
        r"a field one of type ti.template\(\)",
    ),
    "field for a number": (
        kernel("x[0] = a", "a: ti.f32", call="k(loss)"),
        r"x\[None\] or x\[i\] is a number",
    ),
    "array for a number": (
        kernel("x[0] = a", "a: ti.f32", call="k(np.ones(3))"),
        r"of type ti.types.ndarray\(\) takes an array",
    ),
    "list for an array": (
        kernel("x[0] = a[0]", "a: ti.types.ndarray()", call="k([1.0])"),
        r"np.asarray\(...\) makes one",
    ),
    "update of a field": ("loss += 1", r"x\[None\] is its number"),
    "float of a field": ("float(loss)", r"x\[None\] is its number"),
    "round of a field": ("round(loss, 2)", r"x\[None\] is its number"),
    "abs of a field": ("abs(x)", r"x\[i\] is an element"),
    "truth of a field": ("if x: pass", "has no truth value"),
    "loop over a field": ("for v in x: pass", "Did you forget @ti.kernel"),
    "gradient step": ("x -= 0.1 * x.grad", r"x\[i\] is an element"),
    "item": ("loss.item()", r"x\[None\] is the number"),
    "numpy": ("x.numpy()", r"x.to_numpy\(\)"),
    "mean": ("x.mean()", "in a loop"),
    "loss.backward": ("loss.backward()", r"with ti.ad.Tape\(loss\)"),
    "zero_grad": ("x.zero_grad()", "sets all gradients to 0"),
    "detach": ("x.detach()", "ti.stop_grad"),
    "attribute typo": ("x.shpae", "did you mean 'shape'"),
    "zeros": ("ti.zeros(3)", r"ti.field\(ti.f32, shape=n\)"),
    "grad of ti": ("ti.grad(loss, x)", r"with ti.ad.Tape\(loss\)"),
    "where": (kernel("x[0] = ti.where(True, 1.0, 2.0)"), "ti.select"),
    "type as a text": ("ti.field('f32', 3)", "write ti.f32"),
    "shape first": ("ti.field(3, ti.f32)", "the first argument is one"),
    "values as types": ("ti.field([1.0, 2.0])", r"x.from_numpy\(...\) gives it values"),
    "keyword": ("ti.field(ti.f32, 3, need_grad=True)", "did you mean 'needs_grad'"),
    "option": ("ti.init(defalt_fp=ti.f64)", "did you mean 'default_fp'"),
    "no shape": ("ti.field(ti.f32)[0]", "declare it with shape="),
    "no init": ("ti.reset()\nti.field(ti.f32, 3)", "call it before fields"),
    "old field": ("ti.init()\nx[0]", "ended"),
    "gradient not asked for": ("y.grad[0]", "needs_grad=True"),
    "several losses": ("with ti.ad.Tape(x): pass", "shape=()"),
    "loss without gradient": ("with ti.ad.Tape(y): pass", "shape=()"),
    "number as loss": ("with ti.ad.Tape(loss[None]): pass", r"write ti.ad.Tape\(loss\)"),
    "tape without with": ("ti.ad.Tape(loss).grad()", r"`with ti.ad.Tape\(loss\) as tape:`"),
    "array of another shape": ("x.from_numpy(np.zeros(3))", r"shape \(8,\), the array has \(3,\)"),
    "index out of range": ("x[8]", r"out of bounds for field 'x' of shape \(8,\)"),
    "copy": ("import copy\ncopy.copy(x)", r"save x.to_numpy\(\)"),
}


@pytest.mark.parametrize(("program", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_with_a_cure(program: str, cure: str, tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(HEAD + program)
    code = compile(source.read_text(), str(source), "exec")
    with pytest.raises(Exception, match=cure) as caught:
        exec(code, {"__name__": "program"})
    text = str(caught.value)
    assert "ast." not in text and "Unsupported node" not in text
    if isinstance(caught.value, ti.TaichiCompilationError) and caught.value.source is not None:
        assert f"{source}:{caught.value.source.line}:" in text


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
