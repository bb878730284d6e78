"""Short forms: what is written, what is read, and where errors are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.dialect.te import Te
from mlirad.errors import MLIRError
from mlirad.ir.assembly import expand, shorten
from mlirad.ir.assembly.forms import forms
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import operations
from mlirad.pipeline.opt.parsing import Reading

PAGE = Path(__file__).parents[3] / "docs/assembly.md"
ROWS = re.findall(r"^\| `(.*)` \| `(.*)` \|$", PAGE.read_text(), re.MULTILINE)
AROUND = "func.func @f(%x: !field.array<f32, [16]>, %s: !grad.stack<f32>, %l: !grad.log<f32, 1>) {"
TREES = """snode.root @S0 {
  snode.dense [16] {
    snode.place @x : f32 adjoint(@x.grad)
    snode.place @x.grad : f32
  }
}
"""


def in_lines(row: str) -> str:
    """Return an op in a function, with its regions as MLIR writes them."""
    op = row.replace("{ ... }", "{\n}")
    return f"{AROUND}\n  {op}\n}}"


def text_of(expanded: str) -> str:
    """Return the entries of dictionaries in order, which no dictionary is known by."""
    dictionary = re.compile(r"(?<= )\{(\w[^{}]*(?:\{\}[^{}]*)*)\}(?= :)")
    return dictionary.sub(
        lambda match: "{" + ", ".join(sorted(re.split(r", (?=\w)", match[1]))) + "}", expanded
    )


@pytest.mark.parametrize(("short", "generic"), ROWS)
def test_the_table_of_forms(short: str, generic: str) -> None:
    """What the page says is what is read and what is written."""
    assert text_of(expand(in_lines(short), "-").text) == text_of(in_lines(generic))
    assert shorten(in_lines(generic)) == in_lines(short)


def test_the_table_has_all_forms() -> None:
    assert {re.findall(r"\b[a-z]+\.[a-z_]+", short)[0] for short, _ in ROWS} == {*forms()}


def test_every_op_is_in_the_table_or_said_to_be_generic() -> None:
    names = {op.OPERATION_NAME for dialect in (Field, Grad, Snode, Te) for op in dialect.operations}
    sentence = re.search(r"\n(.*) are always generic\.", PAGE.read_text())
    assert sentence is not None
    assert {*forms()} | {*re.findall(r"`([\w.]+)`", sentence[1])} == names


@pytest.mark.parametrize(
    ("op", "column", "message"),
    [
        ("%v = field.load %x[%i : f32", 25, "expected ']'"),
        ("%v = field.load %x, %i : f32", 21, "expected '['"),
        ("%v = field.load %y[%i] : f32", 19, "the type of %y is not known here: write it"),
        ("field.store %v %x[%i]", 18, "expected ','"),
        ("field.store %v, %x[%i] : f32, f32", 26, "expected 1 type, not 2"),
        ("field.store %v, %x[%i] : f32", 28, "f32 is not a type with elements"),
        ("field.atomic %v, %x[%i]", 16, "expected a word"),
        ("field.dim %x, a", 17, "expected an integer"),
        ("field.print %v : f32", 15, "expected a string"),
        ('field.print "{}", %v : f32, f32', 24, "expected 1 type, not 2"),
        ("%x = field.get : f32", 18, "expected the name of a symbol"),
        ("%x = field.get @x return", 21, "expected ':' and a type"),
        ("%x = field.get @x : )", 23, "expected a type"),
        ("snode.root @S", 3, "expected '{' and a region of 'snode.root'"),
        ("field.store %v, %x[%i] {a = [", 26, "expected attributes in braces"),
    ],
)
def test_mistakes_have_their_place(op: str, column: int, message: str) -> None:
    with pytest.raises(MLIRError) as raised:
        expand(f"{AROUND}\n  {op}\n  }}", "f.mlir")
    assert raised.value.source is not None
    assert message in raised.value.reason
    assert raised.value.source.column == column, raised.value.source


@pytest.mark.parametrize(
    ("op", "column", "message"),
    [
        ("%r = grad.vjp @f(%x, %y {active = [0]} : () -> ()", 27, "expected ')'"),
        ("%r = grad.vjp @f(%x, 1.0) : (f32) -> f32", 24, "expected a value"),
        ("%r = grad.vjp @f(%x) {active = [0]} return", 39, "expected ':' and the type of the deri"),
        ("%r:2 = grad.jvp @f(%x) : f32", 28, "f32 is not a function type"),
        ("%r, %s = grad.jvp @f(%x) : () -> ()", 30, "the type has 0 arguments, and the call 1"),
        ("%r = grad.jvp @f(%x, %y) : (f32) -> ()", 30, "the type has 1 argument, and the call 2"),
        ("%r = grad.vjp @f(%x) : (f32) -> f32, f32", 40, "expected one type, that of the deriva"),
    ],
)
def test_mistakes_in_calls_of_derivatives(op: str, column: int, message: str) -> None:
    test_mistakes_have_their_place(op, column, message)


def reading(text: str) -> ir.Module:
    return Reading(text, "-", is_whole_file=False).module()


def places(module: ir.Module) -> list[tuple[str, int, int]]:
    return [
        (op.name, op.location.start_line, op.location.start_col)
        for op in operations(module.operation)
        if isinstance(op.location, ir.FileLineColLoc)
    ]


BODY = """func.func @f(%v: f32, %i: index) {
  %x = field.get @x : !field.array<f32, [16]>  field.store %v, %x[%i]  return
}
"""


def test_operations_are_where_they_are_in_the_text(tmp_path: Path) -> None:
    """Behind a short form in the same line too; in a file, under its name."""
    expected = [
        ("snode.root", 1, 1),
        ("snode.dense", 2, 3),
        ("snode.place", 3, 5),
        ("snode.place", 4, 5),
        ("func.func", 7, 1),
        ("field.get", 8, 8),
        ("field.store", 8, 48),
        ("func.return", 8, 72),
    ]
    assert places(reading(TREES + BODY)) == expected
    file = tmp_path / "program.mlir"
    file.write_text(TREES + BODY)
    module = Reading(file.read_text(), str(file), is_whole_file=True).module()
    assert places(module) == expected
    ops = [*operations(module.operation)]
    assert {ir.FileLineColLoc(op.location).filename for op in ops} == {str(file)}
    argument = next(op for op in ops if op.name == "func.func").regions[0].blocks[0].arguments[1]
    assert str(argument.location) == f'loc("{file}":7:23)'


def test_one_module_is_parsed_as_it_is(tmp_path: Path) -> None:
    body = BODY.replace("  field.store", "\n  field.store").replace("  return", "\n  return")
    text = f'module @m attributes {{a.b = 1 : i32}} {{\n{TREES}{body}}} loc("x":3:4)\n'
    module = reading(text)
    assert str(module.operation.location) == 'loc("x":3:4)'
    assert str(module.operation.attributes["a.b"]) == "1 : i32"
    assert str(module.operation.attributes["sym_name"]) == '"m"'
    assert places(module)[5:] == [
        ("field.get", 9, 8),
        ("field.store", 10, 3),
        ("func.return", 11, 3),
    ]


@pytest.mark.parametrize("first", ["", "module {\n", "// é é é\n"])
def test_errors_of_upstream_have_their_place(first: str) -> None:
    """Those in text that the short form has, in lines of several operations too."""
    text = f"{first}{TREES}" + BODY.replace("%v, %x", "%unknown, %x")
    text += "}" * first.count("{")
    source = Reading(text, "-", is_whole_file=False)
    with pytest.raises(ir.MLIRError) as raised:
        source.module()
    (diagnostic,) = raised.value.error_diagnostics
    assert "undeclared SSA value" in diagnostic.message
    place = source_location(diagnostic.location)
    assert place is not None
    place = source.place(place)
    assert (place.file, place.line, place.column) == ("-", 8 + bool(first), 60)


def test_explicit_locations_stay() -> None:
    """Of a text without a name too, whose name in locations is that of the standard input."""
    text = BODY.replace("%x[%i]  return", '%x[%i] loc("-":77:5)  return loc("g":1:2)')
    module = reading(TREES + text)
    assert places(module)[-2:] == [("field.store", 77, 5), ("func.return", 1, 2)]


def test_regions_hide_and_give_back_types() -> None:
    """A name is that of another value behind an isolated region, or in the next function."""
    text = """func.func @f(%x: !field.array<f32, [16]>, %c: i1, %i: index) {
  scf.if %c {
    %y = field.alloca : !field.array<f64, []>
    %v = field.load %y[] : f64
  }
  %y = field.alloca : !field.array<f32, []>
  %v = field.load %y[] : f32
  return
}
func.func @g(%x: !field.array<i32, [16]>, %i: index) {
  %v = field.load %x[%i] : i32
  return
}
"""
    with context():
        module = reading(text)
        assert shorten(str(module)).count("!field.array<f32, []>") == 1
        again = reading(shorten(str(module)))
    assert str(again) == str(module)


def test_types_that_no_definition_says_are_written() -> None:
    text = """!array = !field.array<f32, [4]>
func.func @f(%x: !array, %y: !array, %c: i1, %i: index) {
  %z = arith.select %c, %x, %y : !field.array<f32, [4]>
  %v = field.load %z[%i] : !field.array<f32, [4]>
  %o = field.atomic max %v, %z[%i] : !field.array<f32, [4]>
  return
}
"""
    with context():
        module = reading(text)
        short = shorten(str(module))
    assert "%1 = field.load %0[%arg3] : !field.array<f32, [4]>\n" in short
    assert "%2 = field.atomic max %1, %0[%arg3] : !field.array<f32, [4]>\n" in short
    with context():
        assert str(reading(short)) == str(module)


@pytest.mark.parametrize(
    "op",
    [
        '%k = "field.dim"(%x) {axis = 0 : index} : (!field.array<f32, [16]>) -> index',
        '%o = "field.atomic"(%v, %x) {kind = "a b"} : (f32, !field.array<f32, []>) -> f32',
        '%v = "field.load"(%x, %i) : (!field.array<f32, [16]>, i32) -> f32',
        '%v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f64',
        '%x = "field.get"() {field = @x::@y} : () -> !field.array<f32, [16]>',
        '%k = "snode.length"(%i) {activity = @p} : (index) -> index',
        '"snode.root"() ({\n}) : () -> ()',
        '"snode.dense"() ({\n}) {axes = [0], extents = [1 : i32]} : () -> ()',
        '"te.yield"() : () -> ()',
        '"grad.custom"(%v) ({\n}, {\n}, {\n}) {function = "f"} : (f32) -> f32',
        '%s = "te.reduce"(%i) ({\n}, {\n}) {kind = "sum"} : (index) -> f32',
    ],
)
def test_what_a_form_cannot_say_stays_generic(op: str) -> None:
    assert shorten(in_lines(op)) == in_lines(op)


def test_names_of_ops_in_other_places_are_left() -> None:
    text = """module attributes {field.load, grad.mark = 1 : i32, field.note = "field.store %a"} {
  // field.store %v
  func.func @field.load(%field.x: f32 {te.read}) attributes {
    field.chunk, snode.root} {
    return
  }
}
"""
    assert expand(text, "-").text == text


def test_an_op_may_be_the_first_thing_in_a_region() -> None:
    text = "func.func @f(%s: !grad.stack<f32>) {grad.free %s return}"
    assert '{"grad.free"(%s) : (!grad.stack<f32>) -> () return}' in expand(text, "-").text


def test_forms_may_go_over_lines() -> None:
    text = (
        AROUND
        + """
  field.store
    %v, // the value
    %x[%i]
  return
}"""
    )
    expanded = expand(text, "-").text
    assert expanded.count("\n") == text.count("\n")
    assert expanded.split("\n")[4] == "  return"


DERIVATIVES = """func.func private @f(%x: f64) -> f64
func.func @g(%x: f64, %derivative: f64) -> f64 {
  %a = arith.addf %x, %x : f64 %r = grad.vjp @f(%a,
    %x) {active = [0]} : (f64, f64) -> f64 %b, %c = grad.jvp @f(%a, %r) {active = [0]}
    : (f64, f64) -> (f64, f64) %q = arith.addf %b, %c : f64
  %s:2 = grad.jvp @f(%a, %q) {active = [0]} : (f64, f64) -> (f64, f64) loc("there":5:6)
  return %s#1 : f64
}
"""


def test_a_derivative_and_its_call() -> None:
    """Both ops are where the line begins, or at its location; so is what stands behind them."""
    assert places(reading(DERIVATIVES))[2:-1] == [
        ("arith.addf", 3, 8),
        ("grad.vjp", 3, 37),
        ("func.call_indirect", 3, 37),
        ("grad.jvp", 4, 53),
        ("func.call_indirect", 4, 53),
        ("arith.addf", 5, 37),
        ("grad.jvp", 5, 6),
        ("func.call_indirect", 5, 6),
    ]


@pytest.mark.parametrize("locations", [False, True])
def test_a_derivative_and_its_call_are_written_in_one_line(locations: bool) -> None:
    with context():
        module = reading(DERIVATIVES)
        text = module.operation.get_asm(enable_debug_info=locations)
        short = shorten(text)
        assert short.count("grad.vjp @f(") == 1 and short.count("grad.jvp @f(") == 2
        assert len(text.split("\n")) == len(short.split("\n")) + 3
        again = reading(short).operation
        assert again.get_asm(enable_debug_info=locations) == text


@pytest.mark.parametrize(
    "use",
    [
        "%c = func.call_indirect %d(%r, %x) : (f64, f64) -> f64",  # once more
        "scf.if %b {\n    %c = func.call_indirect %d(%r, %x) : (f64, f64) -> f64\n  }",
        "func.return %r, %d : f64, (f64, f64) -> f64",
    ],
)
def test_a_derivative_with_another_use_has_a_line(use: str) -> None:
    text = f"""func.func @g(%x: f64, %b: i1) -> f64 {{
  %d = grad.vjp @f {{active = [0]}} : (f64, f64) -> f64
  %r = func.call_indirect %d(%x, %x) : (f64, f64) -> f64
  {use}
}}
func.func @h(%d: f64) {{
  return
}}"""
    assert shorten(expand(text, "-").text) == text


def test_a_derivative_called_with_attributes_or_elsewhere_has_a_line() -> None:
    for call in (
        'call_indirect %d(%x, %x) {a = "b"} : (f64, f64) -> f64',
        'call_indirect %d(%x, %x) : (f64, f64) -> f64 loc("there":5:6)',
        "call_indirect %e(%x, %x) : (f64, f64) -> f64",
        "call_indirect %d(%d, %x) : (f64, f64) -> f64",
        "grad.vjp @f {active = [0]} : (f64, f64) -> f64",  # the last line
    ):
        text = f"  %d = grad.vjp @f {{active = [0]}} : (f64, f64) -> f64\n  %r = {call}"
        assert shorten(text) == text
