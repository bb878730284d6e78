"""What ranks do together, checked in each of them.

mpiexec -n 4 python test/distributed/checks.py FOLDER

Every rank writes the names of the checks that it passed to a file.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mlirad as ti
from mlirad import dist
from mlirad.distributed.ranks import Ranks, ranks

CHECKS: list[Callable[[Path], None]] = []


def check(one: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(one)
    return one


def refused(kind: type[Exception], words: str, what: Callable[[], object]) -> None:
    """All ranks refuse."""
    try:
        what()
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"nothing raised for {words!r}")


def every_cell(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)


@check
def test_values(folder: Path) -> None:
    rank, size = dist.rank(), dist.size()
    x, y = ti.field(float, 5), ti.field(float, 5)
    whole = ti.field(float, 5 * size)
    x.fill(rank + 1)
    dist.allreduce(x, y)
    assert (y.to_numpy() == size * (size + 1) / 2).all()
    dist.allreduce(x, y, op="min")
    assert (y.to_numpy() == 1).all()
    dist.reduce(x, y, root=1, op="max")
    assert (y.to_numpy() == (size if rank == 1 else 1)).all()
    dist.bcast(y, root=1)
    assert (y.to_numpy() == size).all()
    dist.gather(x, whole, root=0)
    if rank == 0:
        assert (whole.to_numpy() == np.repeat(np.arange(1, size + 1), 5)).all()
    dist.scatter(whole, y, root=0)
    assert (y.to_numpy() == rank + 1).all()
    dist.sendrecv(x, y, (rank + 1) % size, (rank - 1) % size)
    assert (y.to_numpy() == (rank - 1) % size + 1).all()
    counts = ti.field(int, 3)
    counts.fill(rank)
    dist.allreduce(counts)
    assert (counts.to_numpy() == size * (size - 1) // 2).all()
    half = ti.ndarray(ti.f16, 3)
    half.fill(0.5)
    dist.allreduce(half)
    assert (half.to_numpy() == size / 2).all()


@check
def test_large_sums_have_the_same_bits_everywhere(folder: Path) -> None:
    values = np.random.default_rng(dist.rank()).normal(size=200_003)
    total = ranks().sum_everywhere(values)
    everyone = ranks().comm.allgather(total.tobytes())
    assert len(set(everyone)) == 1
    parts = [np.random.default_rng(r).normal(size=200_003) for r in range(dist.size())]
    assert np.allclose(total, sum(parts), rtol=1e-13, atol=1e-13)


@check
def test_ties_go_to_the_lowest_rank(folder: Path) -> None:
    rank = dist.rank()
    x = ti.field(float, 2, needs_grad=True)
    y = ti.field(float, 2, needs_grad=True)
    x.from_numpy(np.array([min(rank, 1), 7.0]))
    with ti.ad.Tape() as tape:
        dist.allreduce(x, y, op="max")
    tape.grad({y: np.array([1.0, 10.0])})
    wanted = [float(rank == 1) * dist.size(), float(rank == 0) * 10 * dist.size()]
    assert (x.grad.to_numpy() == wanted).all(), x.grad.to_numpy()
    x[0] = np.nan
    refused(ti.TaichiRuntimeError, "NaN", lambda: dist.allreduce(x, y, op="max"))


@check
def test_ndarrays(folder: Path) -> None:
    """Gradients of ndarrays that only a transfer touches are cleared; a transformed program leaves
    them alone; a derivative that reaches one without a gradient is refused."""
    size = dist.size()
    x, loss = ti.field(float, 2, needs_grad=True), ti.field(float, (), needs_grad=True)
    a, b = ti.ndarray(float, 2, needs_grad=True), ti.ndarray(float, 2, needs_grad=True)
    hidden = ti.ndarray(float, 2)
    x.fill(2.0)

    @ti.kernel
    def square(a: ti.types.ndarray()):
        for i in x:
            a[i] = x[i] ** 2

    @ti.kernel
    def multiply(a: ti.types.ndarray()):
        for i in x:
            a[i] *= x[i]

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in x:
            loss[None] += a[i]

    def run() -> None:
        square(a)
        dist.allreduce(a, b)
        multiply(b)
        dist.allreduce(b, a)
        total(a)

    with ti.ad.Tape() as tape:
        dist.allreduce(a, b)
        total(b)
    for _ in range(2):
        tape.grad({loss: 1.0})
        assert (a.grad.to_numpy() == size).all(), a.grad.to_numpy()
    b.fill(1.0)
    for _ in range(2):  # of size * (sum of x) * (sum of x ** 2), sums over ranks
        assert (ti.ad.hvp(run, loss, x, np.ones(2)) == 12.0 * size**2).all()
        assert (a.to_numpy() == 0.0).all() and (b.to_numpy() == 1.0).all()

    def lost() -> None:
        with ti.ad.Tape(loss):
            square(hidden)
            dist.allreduce(hidden, b)

    refused(ti.TaichiRuntimeError, "has no gradient", lost)


@check
def test_refusals(folder: Path) -> None:
    rank, error = dist.rank(), ti.TaichiRuntimeError
    x, y = ti.field(float, 4), ti.field(float, 4)
    own = ti.field(float, 4 + rank)
    refused(error, "do not call the same function", lambda: dist.allreduce(own))
    refused(
        error,
        "bcast of f64[4] from rank 0",
        lambda: dist.bcast(x) if rank == 1 else dist.allreduce(x),
    )
    mixed = ti.field(ti.f32 if rank == 1 else ti.f64, 4)
    refused(error, "f32[4]", lambda: dist.allreduce(mixed))
    refused(error, "receives from", lambda: dist.sendrecv(x, y, 0, 0))
    refused(ti.TaichiTypeError, "differ", lambda: dist.allreduce(x, ti.field(float, 3)))
    refused(ti.TaichiTypeError, "got float", lambda: dist.allreduce(1.0))  # type: ignore[arg-type]
    refused(error, "no rank 9", lambda: dist.bcast(x, root=9))
    refused(ValueError, "op is one of", lambda: dist.allreduce(x, op="product"))
    sparse = ti.field(float)
    ti.root.pointer(ti.i, 4).place(sparse)
    refused(ti.TaichiTypeError, "sparse", lambda: dist.allreduce(sparse))
    nested = ti.field(float)
    ti.root.dense(ti.i, 4).dense(ti.i, 4).place(nested)
    refused(ti.TaichiTypeError, "nested", lambda: dist.allreduce(nested))
    refused(error, "smaller than the halo", lambda: dist.Grid((dist.size(),), halo=2))
    refused(error, "cuts", lambda: dist.Grid((8, 8), cuts=(1, 7)))

    def in_tape() -> None:
        with ti.ad.Tape():
            dist.allreduce(x) if rank else dist.bcast(x)

    refused(error, "do not call the same function", in_tape)
    refused(error, "in a tape", lambda: taped(x) if rank else dist.allreduce(x))
    found: list[BaseException] = []

    def elsewhere() -> None:
        try:
            dist.allreduce(x)
        except error as raised:
            found.append(raised)

    other = threading.Thread(target=elsewhere)
    other.start()
    other.join()
    assert "thread" in str(found[0])
    dist.allreduce(x)  # all goes on


def taped(x: ti.Field) -> None:
    with ti.ad.Tape():
        dist.allreduce(x)


@check
def test_grids(folder: Path) -> None:
    for shape, halo, periodic in (
        ((13,), 2, True),
        ((9, 11), 1, False),
        ((8, 9), 2, (True, False)),
        ((6, 7, 8), 1, True),
    ):
        grid = dist.Grid(shape, halo, periodic)
        x, v = grid.field(float), grid.vector(2, ti.f32)
        cells = every_cell(shape)
        grid.from_numpy(x, cells if dist.rank() == 0 else None)
        grid.from_numpy(v, np.stack([cells, -cells], -1) if dist.rank() == 0 else None)
        grid.exchange(x, v)
        around = cells
        for axis, is_closed in enumerate(grid.periodic):
            pad = [(halo if a == axis else 0,) * 2 for a in range(len(shape))]
            around = np.pad(around, pad, "wrap") if is_closed else np.pad(around, pad)
        own = tuple(slice(begin, end + 2 * halo) for begin, end in grid.local)
        assert (x.to_numpy() == around[own]).all(), shape
        assert (v.to_numpy()[..., 1] == -around[own]).all(), shape
        counted = sum(
            np.prod([end - begin for begin, end in box]) for box in [*grid.rim, grid.inner]
        )
        assert counted == np.prod([end - begin for begin, end in grid.local])
        assert grid.owner(*[begin for begin, _ in grid.local]) == dist.rank()
        assert grid.owner(*[end - 1 for _, end in grid.local]) == dist.rank()
        found = grid.to_numpy(x)
        assert (found is None) == (dist.rank() > 0)
        assert found is None or (found == cells).all()
        path = str(folder / f"{len(shape)}{halo}.npy")
        grid.save(v, path)
        assert (np.load(path)[..., 0] == cells).all()
        v.fill(0)
        grid.load(v, path)
        assert (v.to_numpy()[..., 0] != 0).sum() == np.prod([e - b for b, e in grid.local])
        ones = grid.field(float)
        ones.fill(1)
        grid.collect(ones)  # each cell gets as much as ranks have it
        total = np.array([ones.to_numpy().sum()])
        edge = ranks().sum_everywhere(total)[0]
        assert edge >= np.prod(shape)


@check
def test_an_exchange_beside_inner_work(folder: Path) -> None:
    grid = dist.Grid((12, 16), halo=1, periodic=True)
    x, y = (grid.field(float, needs_grad=True) for _ in range(2))
    loss = ti.field(float, (), needs_grad=True)

    @ti.kernel
    def blur(box: ti.template()):
        for i, j in ti.ndrange(*box):
            y[i, j] = x[i - 1, j] * x[i, j + 1] + x[i + 1, j - 1]

    @ti.kernel
    def add_up():
        for i, j in ti.ndrange(*grid.local):
            loss[None] += y[i, j] ** 2

    def plain() -> None:
        grid.exchange(x)
        blur(grid.local)
        add_up()

    def beside() -> None:
        flight = grid.begin(x)
        blur(grid.inner)
        flight.finish()
        for box in grid.rim:
            blur(box)
        add_up()

    random = np.random.default_rng(3).normal(size=grid.shape)
    found = []
    for program in (plain, beside):
        grid.from_numpy(x, random)
        y.fill(0)
        with ti.ad.Tape(loss):
            program()
        found.append((loss[None], x.grad.to_numpy()))
    assert abs(found[0][0] - found[1][0]) < 1e-12 * abs(found[0][0])
    assert np.allclose(found[0][1], found[1][1], rtol=1e-13, atol=1e-13)
    flight = grid.begin(x)
    x.fill(2)
    refused(ti.TaichiRuntimeError, "between Grid.begin and finish", flight.finish)


@check
def test_files(folder: Path) -> None:
    grid, rank = dist.Grid((9, 7), halo=1), dist.rank()
    x, v, b = grid.field(float), grid.vector(2, ti.f32), grid.field(ti.u1)
    cells = every_cell(grid.shape)
    for one, whole in ((x, cells), (v, np.stack([cells, -cells], -1)), (b, cells % 3 == 0)):
        grid.from_numpy(one, whole if rank == 0 else None)
        for path, name in ((str(folder / "x.npy"), "data"), (str(folder / "x.h5"), "run/x")):
            grid.save(one, path, name)
            one.fill(0)
            grid.load(one, path, name)
            found = grid.to_numpy(one)
            assert found is None or (found == whole).all(), (path, whole.shape)
    if rank == 0:
        import h5py

        with h5py.File(folder / "x.h5") as file:
            assert (file["run/x"][:] == (cells % 3 == 0)).all()
        with h5py.File(folder / "theirs.h5", "w") as file:
            file.create_dataset("data", data=cells, chunks=(2, 2), compression="gzip")
    dist.barrier()
    grid.load(x, str(folder / "theirs.h5"))
    found = grid.to_numpy(x)
    assert found is None or (found == cells).all()
    refused(
        ValueError,
        "has no 'other', it has data",
        lambda: grid.load(x, f"{folder}/theirs.h5", "other"),
    )
    refused(ValueError, "the grid has", lambda: grid.load(v, f"{folder}/theirs.h5"))
    missing = str(folder / "no" / "x.h5")
    kind = FileNotFoundError if rank == 0 else ti.TaichiRuntimeError
    refused(kind, "", lambda: grid.save(x, missing))
    refused(FileNotFoundError, "", lambda: grid.load(x, missing))
    only = f"{folder}/theirs.h5" if rank else missing  # ranks see different disks
    refused(ti.TaichiRuntimeError, "do not call the same function", lambda: grid.load(x, only))
    wrong = np.zeros(3) if rank == 0 else None
    refused(ValueError, "the array has (3,)", lambda: grid.from_numpy(x, wrong))


@check
def test_migration(folder: Path) -> None:
    rank, size, rows = dist.rank(), dist.size(), 12
    count, where, name = ti.field(int, ()), ti.field(int, rows), ti.field(int, rows)
    x, v = ti.field(float, rows, needs_grad=True), ti.Vector.field(2, float, rows, needs_grad=True)
    x0, loss = ti.field(float, rows, needs_grad=True), ti.field(float, (), needs_grad=True)
    here = np.arange(rows)
    count[None] = rank + 2
    where.from_numpy((rank + here) % size)
    name.from_numpy(100 * rank + here)
    x0.from_numpy(1.0 + rank + 0.1 * here)

    @ti.kernel
    def begin():
        for i in x:
            x[i] = x0[i]
            v[i] = [2 * x0[i], 1.0]

    @ti.kernel
    def weigh():
        for i in range(count[None]):
            loss[None] += (1 + rank) * x[i] ** 2 + v[i][0]

    with ti.ad.Tape(loss):
        begin()
        dist.migrate(count, where, name, x, v)
        weigh()
    came = [(r, k) for r in range(size) for k in range(r + 2) if (r + k) % size == rank]
    assert count[None] == len(came)
    assert name.to_numpy()[: len(came)].tolist() == [100 * r + k for r, k in came]
    assert not name.to_numpy()[len(came) :].any() and not v.to_numpy()[len(came) :].any()
    values = np.array([1 + r + 0.1 * k for r, k in came])
    assert (x.to_numpy()[: len(came)] == values).all()
    assert np.allclose(v.to_numpy()[: len(came), 0], 2 * values, rtol=1e-15)
    went = 1 + (rank + here) % size  # the weights where they are then
    wanted = np.where(here < rank + 2, 2 * went * x0.to_numpy() + 2, 0)
    assert np.allclose(x0.grad.to_numpy(), wanted, rtol=1e-14, atol=0)
    error = ti.TaichiRuntimeError
    where.fill(size if rank == 1 else 0)
    refused(error, "a destination is not a rank", lambda: dist.migrate(count, where, x))
    where.fill(0)
    count[None] = rows
    refused(error, "more particles come to a rank", lambda: dist.migrate(count, where, x))
    refused(ti.TaichiTypeError, "has shape", lambda: dist.migrate(count, where, ti.field(float, 3)))


@check
def test_checkpointed_loops(folder: Path) -> None:
    grid = dist.Grid((24,), halo=1, periodic=True)
    x, y, x0 = (grid.field(float, needs_grad=True) for _ in range(3))
    loss = ti.field(float, (), needs_grad=True)
    ((begin, end),) = grid.local

    @ti.kernel
    def start():
        for i in ti.ndrange((begin, end)):
            x[i] = x0[i]

    @ti.kernel
    def step(t: int):
        for i in ti.ndrange((begin, end)):
            y[i] = x[i] + 0.1 * ti.sin(x[i - 1] * x[i + 1] + t)
        for i in ti.ndrange((begin, end)):
            x[i] = y[i]

    @ti.kernel
    def finish():
        for i in ti.ndrange((begin, end)):
            loss[None] += x[i] ** 2

    grid.from_numpy(x0, np.sin(every_cell(grid.shape)))
    grads = []
    # state of another size in each rank: by bytes, ranks would differ
    for ways in ({}, {"snapshots": 3}, {"memory": 2500}):
        with ti.ad.Tape(loss):
            start()
            over = range(17)
            for t in dist.checkpointed(over, state=[x], scratch=[y], **ways) if ways else over:
                grid.exchange(x)
                step(t)
            finish()
        grads.append(x0.grad.to_numpy())
    assert np.abs(grads[0]).max() > 0
    assert (grads[0] == grads[1]).all() and (grads[0] == grads[2]).all()

    def ways_differ() -> None:
        with ti.ad.Tape(loss):
            start()
            for t in ti.ad.checkpointed(
                range(17), state=[x], scratch=[y], snapshots=2 + dist.rank()
            ):
                grid.exchange(x)
                step(t)
            finish()

    if dist.size() > 1:
        refused(ti.TaichiRuntimeError, "a step of a loop is done again", ways_differ)
        refused(
            ti.TaichiRuntimeError,
            "steps with",
            lambda: dist.checkpointed(range(5 + dist.rank()), state=[x], snapshots=2),
        )


@check
def test_ranks_draw_different_numbers_and_share_processors(folder: Path) -> None:
    x = ti.field(float, 3)

    @ti.kernel
    def draw():
        for i in x:
            x[i] = ti.random()

    draw()
    assert len({one.tobytes() for one in ranks().comm.allgather(x.to_numpy())}) == dist.size()
    assert isinstance(ranks(), Ranks) and ranks().local_size == dist.size()


def main(folder: Path) -> None:
    for one in CHECKS:
        dist.init(arch=ti.cpu, default_fp=ti.f64, opt_level=0)
        one(folder)
        with (folder / f"passed-{dist.rank()}").open("a") as file:
            print(one.__name__, file=file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
