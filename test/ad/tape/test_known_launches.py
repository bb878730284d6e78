"""Launches that a tape knows are recorded as others are, whatever changes memory between them: each
program runs twice, and without what tapes know, and all that can be seen of it is compared."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import State, array, scalar, scatter, variable
from msgspec.structs import replace

import mlirad as ti
from mlirad.ad.recording import known_states as states
from mlirad.ad.recording.array_gradients import ArrayGradients
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.versions import Versions
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.kernels.ready import Ready
from mlirad.pipeline.mode import REVERSE
from mlirad.runtime.explanation import Row
from mlirad.runtime.program import program as current_program

N = 4


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(default_fp=ti.f64)
    yield
    ti.reset()


class World:
    """Fields, arrays, and kernels that read and write them in different ways."""

    def __init__(self) -> None:
        self.x, self.y, self.z = x, y, z = [variable(N, seed=k) for k in range(3)]
        self.hidden = hidden = ti.field(ti.f64, shape=N)  # which tapes give a gradient
        self.late = late = ti.field(ti.f64, shape=N)  # likewise, while its kernel is known
        self.free = ti.field(ti.f64, shape=N)
        self.rows = rows = variable(8, N)
        self.a, self.plain = array(N), np.linspace(0.5, 1.0, N)
        self.loss, self.other = loss, other = scalar(), scalar()
        self.start = State([self.a], loss)

        @ti.kernel
        def gather():
            for i in range(N):
                loss[None] += x[i] * y[i] ** 2

        @ti.kernel
        def scale(s: ti.f64):
            for i in range(N):
                loss[None] += s * x[i] ** 3

        @ti.kernel
        def store():
            for i in range(N):
                z[i] = x[i] * x[i]

        @ti.kernel
        def use():
            for i in range(N):
                loss[None] += z[i] * y[i]

        @ti.kernel
        def advance():
            for i in range(N):
                y[i] = y[i] * y[i] * x[i]

        @ti.kernel
        def step(t: ti.i32):
            for i in range(N):
                rows[t + 1, i] = rows[t, i] * rows[t, i] * x[i]

        @ti.kernel
        def pass_on():
            for i in range(N):
                hidden[i] = x[i] * y[i]

        @ti.kernel
        def use_hidden():
            for i in range(N):
                loss[None] += hidden[i] ** 2

        @ti.kernel
        def use_late():
            for i in range(N):
                loss[None] += 2.0 * late[i]

        @ti.kernel
        def on(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
            for i in range(N):
                loss[None] += a[i] * a[i] * x[i]

        @ti.kernel
        def change(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
            for i in range(N):
                a[i] = a[i] * a[i] * 0.5

        @ti.kernel
        def energy():
            for i in range(N):
                other[None] += x[i] ** 2 * y[i]

        self.gather, self.scale, self.store, self.use, self.advance = (
            gather,
            scale,
            store,
            use,
            advance,
        )
        self.step, self.on, self.change, self.energy = step, on, change, energy
        self.pass_on, self.use_hidden, self.use_late = pass_on, use_hidden, use_late

    def launches(self) -> list[Callable[[], object]]:
        """Return what is repeated before and after each change."""
        return [
            self.use_late,
            self.gather,
            lambda: self.scale(0.5),
            lambda: (self.store(), self.use()),
            lambda: self.on(self.a),
            self.energy,
        ]

    def seen(self) -> list[np.ndarray]:
        """The elements and the gradients of everything."""
        arrays = [self.x, self.y, self.z, self.rows, self.a, self.loss, self.other]
        return [part.to_numpy() for x in arrays for part in (x, x.grad)] + [
            self.hidden.to_numpy(),
            self.plain.copy(),
        ]


@ti.ad.no_grad
def without_gradient(world: World) -> None:
    world.store()
    world.gather()


@ti.ad.grad_replaced
def given(world: World) -> None:
    world.advance()


@ti.ad.grad_for(given)
def gradient_of_given(world: World) -> None:
    world.energy.grad()


def fail(world: World) -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError):
        world.scale("text")


def nested(world: World) -> None:
    with ti.ad.Tape(world.other):
        world.energy()


def by_hand(world: World) -> None:
    world.other.grad[None] = 1.0
    world.energy.grad()


def loop(world: World) -> None:
    for _ in ti.ad.checkpointed(range(4), snapshots=2, state=[world.y]):
        world.advance()


def new_field(world: World) -> None:
    """A field that is placed while a tape records, and used."""
    field = variable(N)

    @ti.kernel
    def use_new():
        for i in range(N):
            world.loss[None] += field[i] * world.x[i]

    use_new()


def other_thread(world: World) -> None:
    """Another thread's tape, which places a gradient of its own."""

    def run() -> None:
        field, loss = variable(N), scalar()

        @ti.kernel
        def add():
            for i in range(N):
                loss[None] += field[i] ** 2

        with ti.ad.Tape(loss):
            add()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def steps(world: World) -> None:
    for t in range(4):
        world.step(t)


def view(world: World) -> None:
    world.z_view = np.asarray(world.z)  # type: ignore[attr-defined]
    world.store()


CHANGES: dict[str, Callable[[World], object]] = {
    "nothing": lambda w: None,
    "an element": lambda w: w.x.__setitem__(1, 0.7),
    "an element of what is stored": lambda w: w.z.__setitem__(1, 0.7),
    "fill": lambda w: w.y.fill(1.25),
    "from_numpy": lambda w: w.x.from_numpy(np.linspace(0.1, 1.0, N)),
    "copy_from": lambda w: w.y.copy_from(w.x),
    "copy_from of what is stored": lambda w: w.x.copy_from(w.z),
    "copy_from to what has no gradient": lambda w: w.late.copy_from(w.x),
    "copy_from of a gradient": lambda w: w.free.copy_from(w.x.grad),
    "a kernel in place": lambda w: w.advance(),
    "a kernel that stores": lambda w: w.store(),
    "another argument": lambda w: w.scale(0.25),
    "an infinity": lambda w: w.y.__setitem__(2, np.inf),
    "steps over rows": steps,
    "a hidden gradient": lambda w: (w.pass_on(), w.use_hidden()),
    "a new field": new_field,
    "a gradient that the program uses": by_hand,
    "clear_all_gradients": lambda w: ti.ad.clear_all_gradients(),
    "a function without a gradient": without_gradient,
    "a function with a gradient of its own": given,
    "a tape inside": nested,
    "a checkpointed loop": loop,
    "an error": fail,
    "another thread": other_thread,
    "a view": view,
    "an element of an ndarray": lambda w: w.a.__setitem__(1, 0.3),
    "fill of an ndarray": lambda w: w.a.fill(0.3),
    "a kernel on an ndarray": lambda w: w.change(w.a),
    "a kernel on an array of NumPy's": lambda w: w.on(w.plain),
    "an array of NumPy's": lambda w: (w.on(w.plain), w.plain.fill(0.75), w.on(w.plain)),
    "stop": lambda w: (_ for _ in ()).throw(KeyError("stop")),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"rules": "refuse"},
    {"anomaly": True},
    {"memory": 1 << 20},
    {"clear_gradients": False},
]
Outcome = list[Any]


def _without_address(row: Row) -> Row:
    """A row of a copy of an array of NumPy's, which each tape makes anew."""
    return replace(row, array="an array") if row.array.isdigit() else row


def outcome(world: World, change: Callable[[World], object], options: dict[str, Any]) -> Outcome:
    """All that is seen of a program that runs twice, of a plain tape three times, with a change
    between launches."""
    current_program().derivatives.warned.clear()
    ti.ad.clear_all_gradients()
    result: Outcome = []
    for _ in range(2 if options else 3):
        world.start.restore()
        world.plain[:] = np.linspace(0.5, 1.0, N)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tape = ti.ad.Tape(world.loss, **options)
            try:
                with tape:
                    for launch in world.launches():
                        for _ in range(3):
                            launch()
                        change(world)
                        for _ in range(3):
                            launch()
                result.append([_without_address(row) for row in tape.explain().rows])
            except (KeyError, ti.TaichiRuntimeError) as error:
                result.append(str(error))
        texts = sorted(str(warning.message) for warning in caught)
        result += [[text for text in texts if "hidden one" not in text], *world.seen()]
        world.z_view = None  # type: ignore[attr-defined]
    return result


def forget_all(patch: pytest.MonkeyPatch) -> None:
    """Let tapes know nothing of launches before."""
    after_launch, pieces = Versions.after_launch, Ledger.pieces

    def note_anew(versions: Versions, *arguments: Any) -> None:
        versions._noted.clear()
        after_launch(versions, *arguments)

    def find_anew(ledger: Ledger, launch: Any) -> Any:
        ledger._known_pieces.clear()
        return pieces(ledger, launch)

    patch.setattr(states.State, "find", lambda state, launch: None)
    patch.setattr(ArrayGradients, "are_known", lambda gradients, launch: False)
    patch.setattr(Ready, "launch", lambda ready, kernel, arguments: None)
    patch.setattr(Versions, "after_launch", note_anew)
    patch.setattr(Ledger, "pieces", find_anew)


def check_change(world: World, change: Callable[[World], object], options: dict[str, Any]) -> None:
    known = outcome(world, change, options)
    with pytest.MonkeyPatch.context() as patch:
        forget_all(patch)
        expected = outcome(world, change, options)
    compare(known, expected)


def compare(known: Outcome, expected: Outcome) -> None:
    assert len(known) == len(expected)
    for mine, other in zip(known, expected):
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, other)
        else:
            assert mine == other


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_between_launches(name: str) -> None:
    world = World()
    compiles_anew = name in ("a new field", "another thread")
    for options in OPTIONS[:1] if compiles_anew else OPTIONS:
        check_change(world, CHANGES[name], options)


def is_known(patch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets, for each launch, whether its tape knew it."""
    known, find = list[bool](), states.State.find

    def note(state: states.State, launch: Launch) -> Any:
        found = find(state, launch)
        known.append(found is not None)
        return found

    patch.setattr(states.State, "find", note)
    return known


def test_launches_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third launch of a kernel in a row is known, one after a write to what it needs once the
    write was recorded before, and all of a tape that is recorded again."""
    world, known = World(), is_known(monkeypatch)

    def record() -> list[bool]:
        known.clear()
        with ti.ad.Tape(world.loss):
            for _ in range(4):
                world.gather()
            world.x[0] = 0.25
            for _ in range(3):
                world.gather()
        return [*known]

    assert record() == [False, False, True, True, False, False, True]
    assert record() == [True] * 7


def test_launches_in_place_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that overwrite what reverses need are known on the second tape, up to a launch that
    differs, and their copies hold what is there then."""
    world, known = World(), is_known(monkeypatch)

    def record(steps: int, start: float) -> tuple[list[bool], np.ndarray]:
        known.clear()
        y = np.linspace(start, start + 0.3, N)
        world.y.from_numpy(y)
        with ti.ad.Tape(world.loss):
            for t in range(steps):
                world.advance()
                world.step(t)
            world.use()
            world.gather()
        found, x = world.y.grad.to_numpy(), world.x.to_numpy()
        z, power = world.z.to_numpy(), 2**steps  # y * x^(steps' sum), to powers of 2
        last = x ** (power - 1) * y**power
        np.testing.assert_allclose(world.y.to_numpy(), last)
        slope = x ** (power - 1) * power * y ** (power - 1)
        np.testing.assert_allclose(found, (z + 2 * x * last) * slope, rtol=1e-12)
        return [*known], found

    first, _ = record(4, 0.5)
    assert not any(first)
    again, _ = record(4, 0.7)
    assert all(again)
    shorter, _ = record(3, 0.4)
    assert shorter == [True] * 6 + [False] * 2
    for steps, start in ((4, 0.6), (3, 0.8), (3, 0.5)):
        found, _ = record(steps, start)
        assert all(found)


@pytest.mark.parametrize("seed", range(4))
def test_changes_in_every_order(seed: int) -> None:
    """Tapes of one program with other changes each time, which part from the paths of earlier ones
    at any launch."""
    world, random = World(), np.random.default_rng(seed)
    names = [name for name in CHANGES if name not in ("a new field", "another thread", "stop")]
    chosen = [str(name) for name in random.choice(names, 3)]

    def change(_: World) -> None:
        for name in random.permutation(chosen)[: random.integers(1, 4)]:
            CHANGES[str(name)](world)

    for _ in range(3):
        state = random.bit_generator.state
        known = outcome(world, change, {})
        random.bit_generator.state = state
        with pytest.MonkeyPatch.context() as patch:
            forget_all(patch)
            expected = outcome(world, change, {})
        compare(known, expected)


IN_LOOPS = {
    "advance": lambda w, t: w.advance(),
    "store": lambda w, t: w.store(),
    "use": lambda w, t: w.use(),
    "gather": lambda w, t: w.gather(),
    "scale": lambda w, t: w.scale(0.25 * t),
    "step": lambda w, t: w.step(t % 7),
    "step back": lambda w, t: w.step(6 - t % 7),
    "change": lambda w, t: w.change(w.a),
    "on": lambda w, t: w.on(w.a),
    "hidden": lambda w, t: (w.pass_on(), w.use_hidden()),
    "write": lambda w, t: w.y.__setitem__(1, 0.7),
    "copy": lambda w, t: w.x.copy_from(w.z),
    "given": lambda w, t: given(w),
    "array": lambda w, t: (w.on(w.plain), w.plain.fill(0.75)),
}


@pytest.mark.parametrize("seed", range(24))
def test_loops_return_to_their_states(seed: int) -> None:
    """Loops of which each iteration does the same, of different lengths, on tapes in turn."""
    random = np.random.default_rng(seed)
    names = [str(name) for name in random.choice([*IN_LOOPS], random.integers(1, 5))]
    counts = random.permutation([2, 5, 8])

    def outcomes() -> Outcome:
        ti.init(default_fp=ti.f64)
        world, result = World(), list[Any]()
        for count in counts:
            world.start.restore()
            world.plain[:] = np.linspace(0.5, 1.0, N)
            tape = ti.ad.Tape(world.loss)
            with warnings.catch_warnings(), tape:
                warnings.simplefilter("ignore")
                for t in range(count):
                    for name in names:
                        IN_LOOPS[name](world, t)
                world.use()
                world.gather()
            result.append([_without_address(row) for row in tape.explain().rows])
            result += world.seen()
        return result

    known = outcomes()
    with pytest.MonkeyPatch.context() as patch:
        forget_all(patch)
        expected = outcomes()
    compare(known, expected)


def test_loops_in_place_are_known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An iteration is known once two others were recorded, whatever their number."""
    world, known = World(), is_known(monkeypatch)
    unknown = []
    for count in (20, 300):
        known.clear()
        with ti.ad.Tape(world.loss):
            for _ in range(count):
                world.advance()
                world.store()
            world.use()
        unknown.append(known.count(False))
    assert unknown[0] < 12 and unknown[1] < 12
    (kept,) = current_program().threads.known_states.values()
    assert kept[REVERSE]._count < 24


def test_known_states_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tapes whose launches differ each time do not keep more and more."""
    world, program = World(), current_program()
    monkeypatch.setattr(states, "LIMIT", 40)
    for k in range(30):
        with ti.ad.Tape(world.loss):
            for t in range(4):
                world.step((t + k) % 7)
            world.gather()
        assert states.known_states(program, REVERSE)._count < 60
    gradient = world.x.grad.to_numpy()
    with pytest.MonkeyPatch.context() as patch:
        forget_all(patch)
        with ti.ad.Tape(world.loss):
            world.gather()
    np.testing.assert_array_equal(gradient, world.x.grad.to_numpy())


def test_tapes_longer_than_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tapes with more launches than are kept repeat those that are; tapes of others take their
    place."""
    world, known = World(), is_known(monkeypatch)
    monkeypatch.setattr(states, "LIMIT", 12)

    def record(rows: list[int]) -> int:
        known.clear()
        with ti.ad.Tape(world.loss):
            for t in rows:
                world.step(t)
            world.gather()
        return sum(known)

    long = [*range(7)]
    first = record(long)
    again = [record(long) for _ in range(4)]
    assert first < again[0] and len(set(again)) == 1
    backward = [*reversed(long)]
    others = [record(backward) for _ in range(4)]
    assert others[0] == 0 < others[-1]


def test_states_go_with_a_field() -> None:
    """What is known of launches does not keep the memory of a destroyed tree."""
    tree, memory = _recorded_tree()
    tree.destroy()
    gc.collect()
    assert memory() is None


def _recorded_tree() -> tuple[Any, weakref.ref[Any]]:
    """Return a tree with a field that two tapes used, and the field's memory."""
    builder, x, loss = ti.FieldsBuilder(), ti.field(ti.f64, needs_grad=True), scalar()
    builder.dense(ti.i, N).place(x)
    tree = builder.finalize()

    @ti.kernel
    def add():
        for i in range(N):
            loss[None] += x[i] ** 2

    for _ in range(2):
        with ti.ad.Tape(loss):
            add()
    return tree, weakref.ref(current_program().fields[x.symbol])


def test_tapes_of_a_new_program() -> None:
    """`ti.init` between tapes: nothing that an earlier program's tapes knew is used."""
    found = []
    for _ in range(3):
        ti.init(default_fp=ti.f64)
        world = World()
        found.append(outcome(world, CHANGES["a kernel in place"], {})[2:])
    for mine in found[1:]:
        for one, other in zip(mine, found[0]):
            if isinstance(one, np.ndarray):
                np.testing.assert_array_equal(one, other)


def test_a_field_that_is_gone() -> None:
    """A destroyed tree between two tapes, and between launches and their reverses."""
    builder, x, loss = ti.FieldsBuilder(), ti.field(ti.f64, needs_grad=True), scalar()
    builder.dense(ti.i, N).place(x)
    tree = builder.finalize()
    scatter(x)

    @ti.kernel
    def add():
        for i in range(N):
            loss[None] += x[i] ** 2

    with ti.ad.Tape(loss) as tape:
        for _ in range(4):
            add()
    tree.destroy()
    with pytest.raises(ti.TaichiRuntimeError, match="destroyed"):
        tape.grad()
    with pytest.raises(ti.TaichiCompilationError, match="destroyed"), ti.ad.Tape(loss):
        add()


def test_two_tapes_share_nothing() -> None:
    """Reverses of an earlier tape run again after a later one of the same launches."""
    world = World()
    tapes = []
    for s in (0.5, 2.0):
        with ti.ad.Tape(world.loss) as tape:
            for _ in range(4):
                world.scale(s)
        tapes.append((tape, world.x.grad.to_numpy()))
    (first, half), (second, double) = tapes
    np.testing.assert_allclose(double, 4 * half)
    second.grad()
    np.testing.assert_array_equal(world.x.grad.to_numpy(), double)
    with pytest.raises(ti.TaichiRuntimeError, match="after the tape was closed"):
        first.grad()
