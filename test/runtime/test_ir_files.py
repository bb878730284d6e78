"""`ti.init(dump_ir=)`: the stages of what is compiled, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

import mlirad as ti


def run_square(folder: Path, cache: Path | None = None) -> list[str]:
    """Run a kernel and its reverse; the names of the files, without the digest of its text."""
    options = {"offline_cache_file_path": str(cache)} if cache else {}
    ti.init(dump_ir=folder, offline_cache=cache is not None, **options)
    x = ti.field(ti.f32, 3, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2

    x.fill(3.0)
    with ti.ad.Tape(loss):
        square()
    assert x.grad.to_numpy().tolist() == [6.0] * 3
    names = sorted(file.name for file in folder.iterdir())
    return [f"square{name[len('square-12345678') :]}" for name in names if "square-" in name]


STAGES = ("field", "normal", "memref", "target")


@pytest.mark.cpu_code("the stages of the CPU")
def test_every_stage_of_every_mode_is_a_file(tmp_path: Path) -> None:
    names = run_square(tmp_path / "some" / "ir")
    primal = [name for name in names if ".reverse" not in name]
    assert [name.split("-")[2] for name in primal] == [f"{stage}.mlir" for stage in STAGES]
    assert any(name.endswith("derived.mlir") for name in names if ".reverse" in name)


def test_code_from_the_cache_is_dumped_too(tmp_path: Path) -> None:
    first = run_square(tmp_path / "first", tmp_path / "cache")
    assert run_square(tmp_path / "second", tmp_path / "cache") == first
    for file in (tmp_path / "first").iterdir():
        assert (tmp_path / "second" / file.name).read_text() == file.read_text()


def test_variants_have_files_of_their_own(tmp_path: Path) -> None:
    ti.init(dump_ir=tmp_path)
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def fill(value: ti.template()):
        for i in x:
            x[i] = value

    for value in (1.0, 2.0):
        fill(value)
    files = sorted(tmp_path.glob("fill-*-0-field.mlir"))
    assert [("1.0" in f.read_text(), "2.0" in f.read_text()) for f in files] in (
        [(True, False), (False, True)],
        [(False, True), (True, False)],
    )


def test_the_environment_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_DUMP_IR", str(tmp_path))
    ti.init()
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2

    double()
    assert "func.func" in next(tmp_path.glob("double-*-0-field.mlir")).read_text()


def test_a_folder_that_cannot_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        ti.init(dump_ir=tmp_path / "file")
