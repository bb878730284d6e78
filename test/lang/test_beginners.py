"""Mistakes of beginners: an error or a warning, with its line and what to write instead."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.program import program

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
    "value of a field": ("loss.value = 3", r"x\[None\] = v sets an element"),
    "elements of a field": ("x.values = [1, 2]", r"x.from_numpy\(a\) copies an array"),
    "entry of a field": ("ti.Vector.field(2, float, 3).x = 3", r"x\[i\] = v sets an element"),
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
    "shape first": ("ti.field(3, ti.f32)", "such as ti.f32, as the first argument"),
    "values as types": ("ti.field([1.0, 2.0])", r"x.from_numpy\(...\) gives it values"),
    "keyword": ("ti.field(ti.f32, 3, need_grad=True)", "did you mean 'needs_grad'"),
    "option": ("ti.init(defalt_fp=ti.f64)", "did you mean 'default_fp'"),
    "no shape": ("ti.field(ti.f32)[0]", "declare it with shape="),
    "no init": ("ti.reset()\nti.field(ti.f32, 3)", "call it before fields"),
    "old field": ("ti.init()\nx[0]", r"declare fields after ti.init\(\)"),
    "gradient not asked for": ("y.grad[0]", "needs_grad=True"),
    "several losses": ("with ti.ad.Tape(x): pass", "shape=()"),
    "loss without gradient": ("with ti.ad.Tape(y): pass", "shape=()"),
    "number as loss": ("with ti.ad.Tape(loss[None]): pass", r"write ti.ad.Tape\(loss\)"),
    "tape without with": ("ti.ad.Tape(loss).grad()", r"`with ti.ad.Tape\(loss\) as tape:`"),
    "array of another shape": ("x.from_numpy(np.zeros(3))", r"shape \(8,\), the array has \(3,\)"),
    "index out of range": ("x[8]", r"out of bounds for field 'x' of shape \(8,\)"),
    "copy": ("import copy\ncopy.copy(x)", r"save x.to_numpy\(\)"),
    "range of a shape": (
        kernel("for i in range(x.shape): x[i] = 1.0"),
        r"x.shape\[0\] is an extent",
    ),
    "ndrange of a field": (kernel("for i, j in ti.ndrange(x, 3): x[i] = j"), r"x.shape\[0\]"),
    "complex number": (kernel("z = x[0] * 1j"), "ti.math.cmul"),
    "hidden built-in": (
        "range = 3\n" + kernel("for i in range(3): x[i] = 1.0"),
        "'range' is an int here, and no function",
    ),
    "zero vector": (kernel("a = ti.Vector.zero(3)"), r"ti.Vector.zero\(dt, n, m=None\): missing"),
    "extents one by one": ("ti.field(ti.f32, 3, 3)", r"shape=\(3, 3\)"),
    "extents of vectors": ("ti.Vector.field(2, ti.f32, 3, 4)", r"shape=\(3, 4\)"),
    "extents of matrices": ("ti.Matrix.field(2, 2, ti.f32, 3, 4)", r"shape=\(3, 4\)"),
    "ndarray of values": ("ti.ndarray(np.zeros((3, 3)))", r"a.from_numpy\(...\) gives it values"),
    "method without self": (
        "class A:\n    @ti.kernel\n    def k(): pass\nA().k()",
        r"write def k\(self\)",
    ),
    "gradient of fields": (
        kernel("for i in x: loss[None] += x[i]", call="ti.ad.grad(k, x, loss)"),
        r"ti.ad.grad\(run, inputs=x, output=loss\)",
    ),
    "jacobian of a field": (
        kernel("for i in x: loss[None] += x[i]", call="ti.ad.jacobian(k, x)"),
        r"ti.ad.jacobian\(run, inputs=x, output=loss\)",
    ),
    "part of another length": ("x[:] = [1.0, 2.0]", r"of shape \(8,\) of field 'x' takes a number"),
    "tape keyword": ("ti.ad.Tape(loss, mem='1MB')", "no keyword 'mem'.*memory"),
    "steps without a state": ("ti.ad.checkpointed(range(3))", r"state=\[x, v\]"),
    "tape entered twice": (
        kernel("x[0] += 1", call="t = ti.ad.Tape(loss, clear_gradients=False)")
        + "import warnings\nwarnings.simplefilter('ignore')\nfor _ in range(2):\n    with t: k()",
        "only once. Make one for each run",
    ),
    "class as a tape": ("with ti.ad.Tape: pass", r"`with ti.ad.Tape\(loss\):`"),
    "zero": ("x.grad.zero()", r"x.grad.fill\(0\)"),
    "product of fields": ("x @ y", r"x.to_numpy\(\)"),
    "detach in a kernel": (kernel("y[0] = x[0].detach()"), "ti.stop_grad"),
    "function without a result": (
        "@ti.func\ndef f(a):\n    b = a + 1\n" + kernel("y[0] = f(1.0)"),
        "give each path a return",
    ),
    "sum with no result": (
        "@ti.func\ndef f(a):\n    b = a + 1\n" + kernel("y[0] = 1.0 + f(1.0)"),
        "give each path a return",
    ),
    "length of a vector": (
        kernel("y[0] = ti.math.vec3(1, 2, 3).length()"),
        r"shape \(3,\).*v.norm\(",
    ),
    "transpose of a matrix": (
        kernel("y[0] = ti.Matrix([[1, 2], [3, 4]]).T[0, 0]"),
        r"m.transpose\(",
    ),
    "ti.norm": (kernel("y[0] = ti.norm(ti.Vector([1.0, 2.0]))"), r"a.norm\(\)"),
    "empty vector": (kernel("a = ti.Vector([])"), "at least one entry"),
    "last value in a tape": (
        kernel("for i in x: loss[None] = x[i]", call="with ti.ad.Tape(loss): k()"),
        "write `\\+=`, which is atomic",
    ),
    "sum without an atomic": (
        kernel("for i in x: loss[None] = loss[None] + x[i]", call="with ti.ad.Tape(loss): k()"),
        "write `\\+=`, which is atomic",
    ),
    "list of fields": (
        "f = [x, y]\n" + kernel("\n    for i in range(2):\n        f[i][0] = 1.0"),
        r"ti.static\(range\(n\)\)",
    ),
    "list of functions": (
        "f = [ti.sin, ti.cos]\n" + kernel("for i in range(2): x[i] = f[i](0.0)"),
        r"ti.static\(range\(n\)\)",
    ),
    "mask": ("x[x.to_numpy() > 0] = 1.0", r"x.to_numpy\(\) is a NumPy array that takes it"),
    "list as an index": ("x[[0, 1]] = 1.0", r"a list is one index.*x\[1:3\] is a slice"),
    "text as an index": ("x['a']", r"x\[i\] is an element"),
    "two indices": ("x[0, 1]", r"1 index axis, .* with 2 indices: x\[i\] is an element"),
    "an index for a number": ("loss[0] = 1.0", r"0 index axes, .* 1 index: loss\[None\]"),
    "no index in Python": ("x[None] = 1.0", r"no indices: x\[i\] is an element"),
    "rows by brackets": ("m = ti.field(ti.f32, (3, 3))\nm[1][2]", r"m\[i, j\] is an element"),
    "entry of a vector": (
        "v = ti.Vector.field(2, ti.f32, 4)\nv[1, 0] = 3.0",
        r"v\[i\] is an element, and v\[i\]\[r\] is an entry of it",
    ),
    "index of an ndarray": (
        "a = ti.ndarray(ti.f32, 3)\na[0, 1]",
        r"1d ndarray indexed with 2d indices: \(0, 1\); x\[i\] is an element",
    ),
    "-> ti.Vector": (
        kernel("return ti.Vector([1.0, 2.0])", result=" -> ti.Vector"),
        r"write '-> ti.types.vector\(2, ti.f32\)'",
    ),
    "-> list": (
        kernel("return [1.0, 2.0]", result=" -> list"),
        r"write '-> ti.types.vector\(2, ti.f32\)'",
    ),
    "-> number of a tuple": (
        kernel("return 1.0, 2", result=" -> ti.f32"),
        r"write '-> tuple\[ti.f32, ti.i32\]'",
    ),
    "list of losses": ("with ti.ad.Tape([loss, loss]): pass", "add several losses up in one field"),
    "return in a loop": (
        kernel("\n    for i in x:\n        if i == 2: return"),
        "`continue` ends an iteration",
    ),
    "result in a loop": (
        kernel(
            "\n    for i in x:\n        if i == 2: return x[i]\n    return 0.0", "", "-> ti.f32"
        ),
        "return it after the loop",
    ),
    "two names for one axis": (kernel("for i, j in x: x[i] = j"), "`for i in x:`"),
    "two names for a vector": (
        kernel("for i, j in ti.grouped(x): x[i] = j"),
        r"`for I in ti.grouped\(x\):`",
    ),
    "one name for two axes": (
        "m = ti.field(ti.f32, (3, 3))\n" + kernel("for i in m: m[i] = 1.0"),
        "write `for i, j in ...:`",
    ),
    "matrix times vector": (
        kernel("a = ti.Matrix([[1, 2], [3, 4]]) * ti.Vector([1, 1])"),
        "a @ b is the matrix product",
    ),
    "vector in a number": (
        kernel("\n    a = ti.math.vec3(1, 2, 3)\n    y[0] = a * a"),
        r"shapes differ: a.dot\(b\)",
    ),
    "comparison of vectors": (
        kernel("\n    a = ti.math.vec2(1, 2)\n    if a == a: y[0] = 1"),
        r"\(a == b\).all\(\)",
    ),
    "array for a template": (
        kernel("for i in a: x[i] = a[i]", "a: ti.template()", call="k(np.ones(4))"),
        r"parameter of type ti.types.ndarray\(\)",
    ),
    "number for a template": (
        kernel("for i in a: a[i] = r", "a: ti.template(), r: ti.f32", call="k(1.0, x)"),
        r"cannot loop over the number 1.0.* ti.template\(\) takes a field",
    ),
    "float for an integer": (kernel("x[0] = a", "a: ti.i32", call="k(1.5)"), r"pass int\(1.5\)"),
    "gradient of integers": (
        "ti.field(ti.i32, 4, needs_grad=True)",
        "declare it as ti.f32 or ti.f64",
    ),
    "type before size": ("ti.Vector.field(ti.f32, 2, shape=4)", r"ti.Vector.field\(2, ti.f32"),
    "function in a kernel": (
        kernel("\n    def f(a): return a\n    x[0] = f(1.0)"),
        "Define 'f' outside of it, with @ti.func",
    ),
    "else of a while": (
        kernel("\n    while x[0] < 1: x[0] += 1\n    else: y[0] = 1"),
        "test it after the loop",
    ),
    "static range of an argument": (
        kernel("for i in ti.static(range(m)): x[i] = 1", "m: ti.i32", call="k(2)"),
        r"declare a parameter as ti.template\(\)",
    ),
    "check of a result": (
        "d = ti.field(ti.f64, 3, needs_grad=True)\nti.ad.check(loss, d, (lambda: None)())",
        r"not ti.ad.check\(loss, x, run\(\)\)",
    ),
    "check of an ndarray": (
        "ti.ad.check(loss, ti.ndarray(ti.f64, 3, needs_grad=True), lambda: None)",
        r"not a Ndarray: copy it into one .* x.copy_from\(a\)",
    ),
    "program of a result": (
        "ti.ad.program((lambda: None)(), inputs=x, output=loss)",
        r"pass the function, run, and not its result, run\(\)",
    ),
    "large inverse": (
        kernel("y[0] = ti.Matrix.identity(ti.f32, 6).inverse()[0, 0]"),
        "elimination in loops over a field",
    ),
    "fill with a list": ("x.fill([1.0, 2.0])", r"x.from_numpy\(...\) all of them"),
    "default type as a text": ("ti.init(default_fp='f64')", "such as ti.f64, not 'f64'"),
    "rules": (
        kernel(
            "\n    for i in x:\n        loss[None] += x[i] ** 2",
            call="with ti.ad.Tape(loss, rules='refuse'):\n    k()\n    x.fill(1.0)",
        ),
        'use rules="save" to keep it',
    ),
}


@pytest.mark.parametrize(("text", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_with_a_cure(text: str, cure: str, tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(HEAD + text)
    code = compile(source.read_text(), str(source), "exec")
    with pytest.raises(Exception, match=cure) as caught:
        exec(code, {"__name__": "program"})
    message = str(caught.value)
    assert caught.value.__cause__ is None  # else Python shows our lines first
    assert "ast." not in message and "Unsupported node" not in message
    if isinstance(caught.value, ti.TaichiCompilationError) and caught.value.source is not None:
        assert f"{source}:{caught.value.source.line}:" in message


def test_a_fraction_that_a_result_loses_warns() -> None:
    @ti.kernel
    def lossy() -> ti.i32:
        return 30.4

    ti.init()
    with pytest.warns(UserWarning, match="Assign may lose precision: i32 <- f32"):
        assert lossy() == 30


def test_a_field_that_is_declared_again_warns() -> None:
    ti.init()
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def run():
        for i in x:
            x[i] += 1

    run()
    x = ti.field(ti.f32, 6)
    with pytest.warns(UserWarning, match=r"pass it as an argument of type ti.template\(\), or"):
        run()


def test_a_line_with_two_races_warns_once() -> None:
    ti.init(debug=True)
    x = ti.field(ti.f32, 8)

    @ti.kernel
    def smooth():
        for i in range(1, 7):
            x[i] = x[i - 1] + x[i + 1]

    with pytest.warns(UserWarning, match="written by another iteration") as caught:
        smooth()
    assert len(caught) == 1


def test_an_arch_may_be_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TI_ARCH", raising=False)
    ti.init(arch="cpu")
    assert program().config.arch == ti.cpu


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
