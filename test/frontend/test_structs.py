"""Structs as values: locals, arguments, results, methods, and what is said of mistakes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

vec2 = ti.types.vector(2, ti.f32)


@ti.dataclass
class Body:
    """A mass that moves."""

    mass: ti.f32
    pos: vec2
    vel: vec2
    hits: ti.i32

    @ti.func
    def momentum(self):
        return self.mass * self.vel

    @ti.func
    def move(self, dt):
        self.pos += dt * self.vel
        self.hits += 1
        return self.pos

    def speed(self):
        return self.vel.norm()


Pair = ti.types.struct(first=Body, second=Body, weight=ti.f32)


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(cpu_max_num_threads=2, fast_math=False)
    yield
    ti.reset()


class TestMaking:
    """Values of struct types, in Python scope and in kernels."""

    def test_members_by_position_by_name_and_left_out(self) -> None:
        assert Body(2.0, [1, 2], hits=3).to_dict() == {
            "mass": 2.0,
            "pos": [1.0, 2.0],
            "vel": [0.0, 0.0],
            "hits": 3,
        }

    def test_the_same_in_a_kernel(self) -> None:
        @ti.kernel
        def make() -> Body:
            return Body(2, [1, 2], hits=3.75)

        made = make()
        assert made.to_dict() == Body(2.0, [1, 2], hits=3).to_dict()
        assert isinstance(made.hits, int) and isinstance(made.mass, float)

    def test_from_a_dictionary(self) -> None:
        members = {"mass": 1.5, "vel": [3.0, 4.0]}

        @ti.kernel
        def make() -> Body:
            return Body({"mass": 1.5, "vel": [3.0, 4.0]})

        assert Body(members).to_dict() == make().to_dict() == Body(**members).to_dict()

    def test_a_number_for_a_struct_is_its_first_member(self) -> None:
        assert Pair(7).first.mass == 7.0 and Pair(7).second.mass == 0.0

    def test_nested_by_dictionary(self) -> None:
        pair = Pair({"first": {"mass": 1, "pos": 2, "vel": 3, "hits": 4}, "weight": 0.5})
        assert (pair.first.pos.to_list(), pair.first.hits, pair.weight) == ([2.0, 2.0], 4, 0.5)

    def test_integers_take_the_bits_that_they_have(self) -> None:
        small = ti.types.struct(a=ti.i16, b=ti.u8)

        @ti.kernel
        def make(n: int) -> small:
            return small(n, b=n)

        assert small(65537, 258).to_dict() == make(65537).to_dict() | {"b": 2} == {"a": 1, "b": 2}

    def test_default_types_are_those_of_the_program(self) -> None:
        ti.init(default_fp=ti.f64)
        loose = ti.types.struct(a=float, v=ti.types.vector(2, float))

        @ti.kernel
        def third() -> loose:
            return loose(1.0 / 3.0, 1.0 / 3.0)

        assert third().a == 1.0 / 3.0 and third().v[1] == 1.0 / 3.0

    def test_names_of_members_go_before_those_of_the_class(self) -> None:
        odd = ti.types.struct(keys=ti.i32, items=ti.i32, methods=ti.i32, entries=ti.i32)
        field = odd.field(shape=3)

        @ti.kernel
        def add() -> int:
            x = odd(1, 20, 300, 4000)
            field[1] = x
            return x.keys + x.items + x.methods + field[1].entries

        assert add() == 4321 and field.keys.to_numpy().tolist() == [0, 1, 0]

    def test_of_a_type(self) -> None:
        assert isinstance(Body(), Body) and isinstance(Pair().first, Body)
        assert not isinstance(Pair(), Body) and not isinstance(1.0, Body)
        assert not isinstance(ti.Struct(mass=1, pos=0.0, vel=0.0, hits=0), Body)

    def test_without_a_type(self) -> None:
        v = ti.Struct({"a": 2, "v": [1.0, 2.0], "inner": {"b": 3}})
        assert v.keys == ["a", "v", "inner"] and v.inner.b == 3 and len(v) == 3
        assert str(v) == "{'a': 2, 'v': [1.0, 2.0], 'inner': {'b': 3}}"


class TestInPython:
    """What Python does with a struct."""

    def test_members_are_assigned_to(self) -> None:
        body = Body(1.0, [1, 2], [3, 4])
        body.mass, body.vel, body["hits"] = 2.5, [5, 6], 7
        body.pos.x = 9
        assert body.to_dict() == {"mass": 2.5, "pos": [9, 2.0], "vel": [5, 6], "hits": 7}

    def test_a_nested_struct_is_copied(self) -> None:
        pair, body = Pair(1), Body(3.0)
        pair.first = body
        body.mass = 4.0
        assert pair.first.mass == 3.0

    def test_methods(self) -> None:
        body = Body(2.0, vel=[3, 4])
        assert body.speed() == 5.0 and body.momentum().to_list() == [6.0, 8.0]
        assert body.move(2.0).to_list() == [6.0, 8.0] and body.hits == 1

    def test_inheritance(self) -> None:
        @ti.dataclass
        class Charged(Body):
            charge: ti.f32

            @ti.func
            def force(self, field):
                return self.charge * field + self.momentum()

        @ti.kernel
        def force(x: Charged) -> vec2:
            return x.force(10.0)

        assert list(Charged.members) == ["mass", "pos", "vel", "hits", "charge"]
        assert force(Charged(2, vel=[1, 2], charge=3)).to_list() == [32.0, 34.0]


class TestInKernels:
    """Locals, arguments, results and methods."""

    def test_a_local_is_a_copy(self) -> None:
        @ti.kernel
        def run() -> (float, float, float):
            a = Body(1.0)
            b = a
            b.mass = 5.0
            a.pos.y += 2.0
            c = Pair(first=b)
            c.first.mass *= 2.0
            return a.mass + a.pos.y, b.mass + b.pos.y, c.first.mass

        assert run() == (3.0, 5.0, 10.0)

    def test_two_are_swapped(self) -> None:
        @ti.kernel
        def run() -> (float, float):
            a, b = Body(1.0), Body(2.0)
            a, b = b, a
            return a.mass, b.mass

        assert run() == (2.0, 1.0)

    def test_in_loops_and_branches(self) -> None:
        @ti.kernel
        def run(n: int) -> Body:
            a = Body(1.0, vel=[1, 2])
            for _ in range(n):
                if a.hits % 2 == 0:
                    a.vel *= 2.0
                else:
                    a = Body(a.mass + 1, a.pos, a.vel, a.hits)
                a.hits += 1
            return a

        assert run(5).to_dict() == {
            "mass": 3.0, "pos": [0.0, 0.0], "vel": [8.0, 16.0], "hits": 5,
        }  # fmt: skip

    def test_methods_change_a_local_and_an_element(self) -> None:
        bodies = Body.field(shape=3)

        @ti.kernel
        def run() -> (float, float, int):
            a = Body(1.0, vel=[1, 2])
            bodies[1].vel = a.vel
            first = a.move(1.0).y
            bodies[1].move(3.0)
            return first, a.move(2.0).y, a.hits

        assert run() == (2.0, 6.0, 2)
        assert bodies[1].pos.to_list() == [3.0, 6.0] and bodies[1].hits == 1

    def test_methods_change_what_a_loop_shares(self) -> None:
        @ti.dataclass
        class Sum:
            total: ti.i32
            largest: ti.i32
            start: ti.i32

            @ti.func
            def note(self, value):
                self.add(value)
                ti.atomic_max(self.largest, value)

            @ti.func
            def add(self, value):
                self.total += value + self.start

        @ti.kernel
        def run(n: int) -> Sum:
            s = Sum(start=1)
            for i in range(n):
                s.note(i)
            return s

        assert run(1000).to_dict() == {
            "total": 1000 * 999 // 2 + 1000, "largest": 999, "start": 1,
        }  # fmt: skip

    def test_a_function_gets_a_copy_and_a_template_the_thing(self) -> None:
        @ti.func
        def by_value(b: Body):
            b.mass = 10.0
            return b

        @ti.func
        def by_reference(b: ti.template()):
            b.mass += 1.0

        @ti.kernel
        def run() -> (float, float):
            a = Body(1.0)
            b = by_value(a)
            by_reference(a)
            by_reference(a)
            return a.mass, b.mass

        assert run() == (3.0, 10.0)

    def test_a_function_for_a_method_gets_a_copy(self) -> None:
        @ti.func
        def grow(self, by):
            self.a += by
            return self.a

        kind = ti.types.struct(a=ti.f32, __struct_methods={"grow": grow})

        @ti.kernel
        def run() -> (float, float):
            x = kind(1.0)
            return x.grow(2.0), x.a

        assert run() == (3.0, 1.0)

    def test_results_of_branches(self) -> None:
        @ti.func
        def early(c: int) -> Body:
            if c > 0:
                return Body(1.0, hits=c)
            return Body(2.0, pos=[c, c])

        @ti.kernel
        def run(c: int) -> (Body, float):
            a = Body(3.0) if c > 5 else early(c)
            return a, a.mass

        assert [run(c)[1] for c in (9, 2, -1)] == [3.0, 1.0, 2.0]
        assert run(-1)[0].pos.to_list() == [-1.0, -1.0] and run(2)[0].hits == 2

    def test_arguments_and_results_of_kernels(self) -> None:
        @ti.kernel
        def turned(pair: Pair, k: float) -> Pair:
            pair.first, pair.second = pair.second, pair.first
            pair.weight *= k
            return pair

        pair = Pair(Body(1.0, hits=-3), Body(2.0, [5, 6]), 0.5)
        found = turned(pair, 4)
        assert (found.first.to_dict(), found.weight) == (pair.second.to_dict(), 2.0)
        assert found.second.momentum().to_list() == [0.0, 0.0] and found.second.hits == -3
        assert turned({"first": pair.first, "second": Body(), "weight": 1}, 1).second.mass == 1.0

    def test_templates_are_known_by_their_members(self) -> None:
        """One that was changed in Python since the last launch is another constant."""

        @ti.kernel
        def run(b: ti.template()) -> float:
            return ti.static(b.mass) + b.pos.y

        b = Body(1.0, [2, 3])
        assert run(b) == 4.0
        b.mass, b.pos.y = 5.0, 7.0
        assert run(b) == 12.0 and run(Body(1.0, [2, 3])) == 4.0

    def test_members_by_name(self) -> None:
        names = ("mass", "hits")

        @ti.kernel
        def run(b: Body) -> float:
            total = 0.0
            for name in ti.static(names):
                total += b[name]
                b[name] = 0
            for name, value in ti.static(b.items):
                if ti.static(name in names):
                    total += 100 * value
            for _ in ti.static(b.keys):
                total += 1000
            return total

        assert run(Body(1.5, hits=2)) == 4003.5

    def test_globals(self) -> None:
        a = ti.Struct(a=2, v=ti.Vector([1.0, 2.0]))

        @ti.kernel
        def run() -> float:
            b = a
            b.a = 5
            return b.a + 10 * a.a + 100 * a.v[1]

        assert run() == 225.0 and a.a == 2

    def test_vectors_are_filled(self) -> None:
        """Of a local, of a member and of an element, where a branch is taken and not elsewhere."""
        x = ti.Vector.field(2, ti.f32, shape=2)

        @ti.kernel
        def run(c: int) -> (float, float):
            v, b = ti.Vector([1.0, 2.0]), Body(1.0)
            if c > 0:
                v.fill(5.0)
                b.pos.fill(6.0)
            x[1].fill(c)
            return v.y, b.pos.x

        assert run(0) == (2.0, 0.0) and run(1) == (5.0, 6.0)
        assert x.to_numpy().tolist() == [[0, 0], [1, 1]]

    def test_structs_are_filled(self) -> None:
        """Of a local, of an element with a struct in it, and of an element of the gradients."""
        s = ti.Struct.field({"a": ti.f32, "body": Body}, shape=3, needs_grad=True)
        s.grad.a.fill(7.0)

        @ti.kernel
        def run(c: int) -> (float, float):
            b = Body(1.0, pos=ti.Vector([2.0, 3.0]))
            if c > 0:
                b.fill(5)
                s[1].fill(c)
                s.grad[2].fill(0)
            return b.mass, b.pos.y

        assert run(0) == (1.0, 3.0) and run(2) == (5.0, 5.0)
        assert s.a.to_numpy().tolist() == [0, 2, 0] == s.body.mass.to_numpy().tolist()
        assert s.body.pos.to_numpy().tolist() == [[0, 0], [2, 2], [0, 0]]
        assert s.grad.a.to_numpy().tolist() == [7, 7, 0]

    def test_printing(self, capfd: pytest.CaptureFixture[str]) -> None:
        @ti.kernel
        def run():
            print(ti.Struct(a=1, v=ti.Vector([2, 3])), f"{ti.Struct(b=4)}")

        run()
        ti.sync()
        assert capfd.readouterr().out == "{'a': 1, 'v': [2, 3]} {'b': 4}\n"


MISTAKES = {
    "s == t": "structs cannot be compared",
    "s + t": "unsupported operand",
    "s.masss": "has no member 'masss': did you mean 'mass'",
    "s['masss']": "has no member 'masss': did you mean 'mass'",
    "Body(masss=1)": "has no member 'masss': did you mean 'mass'",
    "Body(1, mass=2)": "member 'mass' of a struct is given twice",
    "Body(1, 2, 3, 4, 5)": "expected 4 values for the members of a struct, got 5",
    "Body([1, 2])": "member 'mass' of a struct is a scalar",
    "Body(1, s)": "member 'pos' is a vector or matrix",
    "ti.cast(s, ti.i32)": "a Struct cannot be converted to",
    "float(s)": "a Struct cannot be converted to",
    "s if i else 1.0": "the branches of a conditional expression are a scalar and a struct",
    "ti.select(i, s, t)": "cannot be a value in a kernel",
    "s[0]": "a struct is indexed by the name of a member",
    "not s": "expected a scalar as the condition",
    "needs(Pair())": "expected a <ti.StructType mass=f32, .* here: its members are",
}
WRONG_STATEMENTS = {
    "s = 1.0": "Only dict or Struct can be assigned to a Struct",
    "s = Pair()": "Member mismatch between structs",
    "s.pos = ti.Vector([1.0, 2.0, 3.0])": "shape",
    "s += t": "a struct cannot be updated as a whole",
    "a, b = s": "a struct cannot be iterated over",
    "outside.mass = 2.0": "cannot assign to this",
    "setattr(s, 'mass', 2.0)": "that is not a variable cannot be assigned",
}


@pytest.mark.parametrize("text", [*MISTAKES, *WRONG_STATEMENTS])
def test_mistakes_name_their_line(text: str, tmp_path: Path) -> None:
    """The error says what is wrong, and where."""
    is_statement = text in WRONG_STATEMENTS
    file = tmp_path / "program.py"
    file.write_text(
        textwrap.dedent(
            f"""
            import mlirad as ti
            from {__name__} import Body, Pair

            outside = Body(1.0)

            @ti.func
            def needs(body: Body):
                return body.mass

            @ti.kernel
            def run(i: int):
                s, t = Body(1.0), Body(2.0)
                {"" if is_statement else "x = "}{text}
            """
        )
    )
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(ti.TaichiCompilationError, match=(MISTAKES | WRONG_STATEMENTS)[text]) as e:
        names["run"](1)
    assert f"{file}:14:" in str(e.value)


class TestDeclarations:
    """What is wrong with a struct type."""

    def test_a_member_twice(self) -> None:
        with pytest.raises(
            ti.TaichiCompilationError, match="'a' of 'Twice' is declared twice"
        ) as e:

            @ti.dataclass
            class Twice:
                a: ti.f32
                b: ti.f32
                a: ti.i32

        message = str(e.value)
        assert message.count(__file__) == 2 and "a: ti.i32" in message and "a: ti.f32" in message

    def test_a_member_and_a_method(self) -> None:
        with pytest.raises(ti.TaichiCompilationError, match="'a' names both a member and a method"):
            ti.types.struct(a=ti.f32, __struct_methods={"a": lambda self: 1})

    def test_a_member_again_in_a_derived_class(self) -> None:
        with pytest.raises(
            ti.TaichiCompilationError, match="'mass' of 'Heavy' is also declared in a"
        ):

            @ti.dataclass
            class Heavy(Body):
                mass: ti.f64

    def test_a_default(self) -> None:
        with pytest.raises(ti.TaichiSyntaxError, match="Default value in @dataclass"):

            @ti.dataclass
            class WithDefault:
                a: ti.f32 = 1.0

    @pytest.mark.parametrize("kind", [ti.types.vector(dtype=ti.f32), "f32", ti.template(), None])
    def test_no_type(self, kind: Any) -> None:
        with pytest.raises(ti.TaichiTypeError, match="member 'a' of a struct is declared as"):
            ti.types.struct(a=kind)

    def test_arguments_of_another_type(self) -> None:
        @ti.kernel
        def run(b: Body) -> float:
            return b.mass

        for value in (1.0, Pair(), {"mass": 1.0}, [1, 2]):
            with pytest.raises(ti.TaichiRuntimeTypeError, match="kernel 'run': Argument b: "):
                run(value)
        with pytest.raises(
            ti.TaichiRuntimeTypeError, match=r"Argument b\.hits .*required type i32"
        ):
            run({"mass": 1.0, "pos": [0, 0], "vel": [0, 0], "hits": 1.5})

    def test_results_of_another_type(self) -> None:
        wrong = ti.types.struct(mass=ti.i32, pos=vec2, vel=vec2, hits=ti.i32)

        @ti.kernel
        def run() -> Body:
            return wrong(1)

        with pytest.raises(ti.TaichiSyntaxError, match="member 'mass': f32 is needed"):
            run()

    def test_ndarrays(self) -> None:
        with pytest.raises(ti.TaichiTypeError, match="is not supported as ndarray element type"):
            ti.ndarray(Body, shape=3)


def test_structs_are_seen_as_text_annotations() -> None:
    """Names in annotations that are text are those where the class stands."""
    local = ti.types.vector(3, ti.f32)

    @ti.dataclass
    class Textual:
        a: local
        b: ti.f32

    assert np.allclose(Textual([1, 2, 3]).a.to_numpy(), [1, 2, 3])
