"""Variables of the environment that Quadrants reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import mlirad.quadrants as qd


@pytest.mark.parametrize("name", ["QD_LOAD_IR", "QUADRANTS_LOAD_PTX"])
def test_edited_code_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for off in ("", "0"):
        monkeypatch.setenv(name, off)
        qd.init()
    monkeypatch.setenv(name, "1")
    with pytest.raises(ValueError, match=f"{name} is not available.*mlirad-opt"):
        qd.init()


@pytest.mark.parametrize("is_option", [True, False])
def test_names_of_loops_are_in_dumps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_option: bool
) -> None:
    monkeypatch.setenv("QD_DUMP_IR", "1")
    if not is_option:
        monkeypatch.setenv("QD_DEBUG_DUMP_PATH", str(tmp_path))
    qd.init(debug_dump_path=str(tmp_path) if is_option else None)
    x = qd.ndarray(qd.f32, (3,))

    @qd.kernel
    def fill(x: qd.types.NDArray[qd.f32, 1]):
        qd.loop_config(name="filling")
        for i in x:
            x[i] = 1.0

    fill(x)
    assert 'loop_name = "filling"' in next(tmp_path.glob("fill-*-0-field.mlir")).read_text()


def test_nothing_is_dumped_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QD_DUMP_IR", "0")
    monkeypatch.setenv("QD_DEBUG_DUMP_PATH", str(tmp_path))
    qd.init(debug_dump_path=str(tmp_path))

    @qd.kernel
    def fill(x: qd.types.NDArray[qd.f32, 1]):
        x[0] = 1.0

    fill(qd.ndarray(qd.f32, (3,)))
    assert not [*tmp_path.iterdir()]
