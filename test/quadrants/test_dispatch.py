"""`qd.perf_dispatch` calls the fastest of its implementations."""

import time
from typing import Any

import pytest

import mlirad.quadrants as qd


def dispatcher(calls: list[str], **options: object) -> object:
    @qd.perf_dispatch(get_geometry_hash=lambda n: n, warmup=1, active=1, **options)
    def work(n: int) -> None: ...

    @work.register
    def slow(n: int) -> str:
        calls.append("slow")
        time.sleep(0.01)
        return "slow"

    @work.register(is_compatible=lambda n: n < 10)
    def fast(n: int) -> str:
        calls.append("fast")
        return "fast"

    return work


def test_each_is_tried_then_the_fastest_runs() -> None:
    qd.init()
    calls: list[str] = []
    work = dispatcher(calls)
    results = [work(1) for _ in range(6)]  # type: ignore[operator]
    assert calls == ["slow", "slow", "fast", "fast", "fast", "fast"]
    assert results == calls


def test_what_is_not_compatible_does_not_run() -> None:
    qd.init()
    calls: list[str] = []
    work = dispatcher(calls)
    assert [work(20) for _ in range(4)] == ["slow"] * 4  # type: ignore[operator]


def test_geometries_are_tried_by_themselves_and_again() -> None:
    qd.init()
    calls: list[str] = []
    work = dispatcher(calls, repeat_after_count=2, repeat_after_seconds=0)
    for n in (1, 2):
        for _ in range(8):
            work(n)  # type: ignore[operator]
    measured = ["slow", "slow", "fast", "fast"]
    assert calls[:8] == [*measured, "fast", "slow", "slow", "fast"]
    assert calls[8:] == calls[:8]


def test_none_that_is_compatible_is_an_error() -> None:
    qd.init()

    @qd.perf_dispatch(get_geometry_hash=lambda: 0)
    def nothing() -> None: ...

    with pytest.raises(qd.QuadrantsRuntimeError, match="nothing: no registered implementation"):
        nothing()


def test_the_first_measurement_has_a_warm_up_of_its_own() -> None:
    called: list[str] = []

    @qd.perf_dispatch(get_geometry_hash=len, first_warmup=1, repeat_after_count=3)
    def work(x: Any) -> None: ...

    @work.register
    def slow(x: Any) -> None:
        called.append("slow")
        sum(range(300_000))

    @work.register(is_compatible=lambda x: len(x) > 2)
    def fast(x: Any) -> None:
        called.append("fast")

    for _ in range(4):  # one to warm up, one that is measured, of both
        work([0, 0, 0])
    assert sorted(called) == ["fast", "fast", "slow", "slow"]
    for _ in range(4):
        work([0, 0, 0])
    assert called[4:6] == ["fast", "fast"] and sorted(called[6:]) == ["fast", "slow"]
    work([0])
    assert called[-1] == "slow"
    with pytest.raises(qd.QuadrantsSyntaxError, match="MISMATCH"):
        work.register(lambda y: None)


def test_an_implementation_that_the_environment_forces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    qd.init()
    monkeypatch.setenv("QD_PERFDISPATCH_FORCE", " work : slow , other:x,?")
    calls: list[str] = []
    work: Any = dispatcher(calls)
    assert [work(1) for _ in range(6)] == ["slow"] * 6
    assert "perf_dispatch 'work': registered 'fast'" in capsys.readouterr().out
    monkeypatch.setenv("QD_PERFDISPATCH_FORCE", "work:gone")
    work = dispatcher(calls)
    with pytest.warns(UserWarning, match=r"'work' has no implementation 'gone', only \['slow'"):
        work(1)
    assert [work(1) for _ in range(4)][-1] == "fast"
    monkeypatch.setenv("QD_PERFDISPATCH_FORCE", "work")
    with pytest.raises(ValueError, match="Malformed 'work'"):
        dispatcher(calls)


def test_a_kernel_of_what_is_registered() -> None:
    @qd.perf_dispatch(get_geometry_hash=lambda: 0)
    def work() -> None: ...

    with pytest.raises(qd.QuadrantsSyntaxError, match="KERNEL_ANNOTATION_ORDER: 'inner'"):

        @qd.kernel
        @work.register
        def inner() -> None: ...
