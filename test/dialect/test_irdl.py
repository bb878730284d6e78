"""The dialects as IRDL text: the files are up to date, and a context without mlirad takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mlirad as ti
from mlirad.bindings import PROVIDER, ir
from mlirad.dialect import irdl_text
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.loading import load_dialects
from mlirad.dialect.snode import Snode

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "mlirad" / "dialect" / "irdl"
# A program that knows MLIR's bindings, and of mlirad nothing but the files.
PLAIN = f"""
import sys
from pathlib import Path

from {PROVIDER} import ir
from {PROVIDER}.dialects import irdl

TRAITS = {{
    "no terminator": ir.NoTerminatorTrait,
    "terminators": ir.IsTerminatorTrait,
    "isolated from above": ir.IsIsolatedFromAboveTrait,
}}
folder, program = map(Path, sys.argv[1:])
with ir.Context(), ir.Location.unknown():
    for file in folder.glob("*.mlir"):
        text = file.read_text()
        irdl.load_dialects(ir.Module.parse(text))
        for line in text.splitlines():
            trait, colon, ops = line.removeprefix("// ").partition(": ")
            for op in ops.split(", ") if colon and trait in TRAITS else ():
                TRAITS[trait].attach(op)
    for text in program.read_text().split("// -----\\n"):
        module = ir.Module.parse(text)
        module.operation.verify()
        print(module.operation.get_asm(print_generic_op_form=True), "// -----")
assert not any(name.startswith("mlirad") for name in sys.modules)
"""


def plain(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the plain program on a text."""
    (folder / "plain.py").write_text(PLAIN)
    (folder / "program.mlir").write_text(text)
    command = [sys.executable, "plain.py", str(FOLDER), "program.mlir"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_files_are_up_to_date() -> None:
    """`python tools/irdl_files.py` writes them."""
    texts = irdl_text.irdl_texts()
    assert {file.stem: file.read_text() for file in FOLDER.iterdir()} == texts


def test_a_context_without_mlirad_reads_kernels(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 16, needs_grad=True)
    y = ti.field(ti.f32, 16, needs_grad=True)

    @ti.kernel
    def powers(n: ti.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = ti.sin(s) * x[i]
            y[i] += s
            print(s)

    stages = [("field", "primal"), ("normal", "reverse"), ("marked", "reverse")]
    texts = [powers.ir(3, stage=stage, mode=mode, generic=True) for stage, mode in stages]
    done = plain("// -----\n".join(texts), tmp_path)
    assert done.returncode == 0, done.stderr
    assert all("field.get" in text for text in done.stdout.split("// -----\n")[:-1])


def test_a_context_without_mlirad_reads_ops(tmp_path: Path) -> None:
    """Of each file of an op, its first program, if that is legal."""
    files = sorted((ROOT / "test" / "dialect").glob("[fgst]*_*.mlir"))
    texts = [file.read_text().partition("// -----\n")[0] for file in files]
    legal = [text for text in texts if "expected-error" not in text]
    done = plain("// -----\n".join(legal), tmp_path)
    assert done.returncode == 0, done.stderr
    ops = {op.OPERATION_NAME for op in (*Field.operations, *Grad.operations, *Snode.operations)}
    assert len({op for op in ops if f'"{op}"' in done.stdout}) > 0.9 * len(ops)


def test_what_is_no_op_of_ours_is_refused(tmp_path: Path) -> None:
    done = plain('func.func @f(%x: f32) { "field.push"(%x) : (f32) -> () return }', tmp_path)
    assert done.returncode != 0 and "field.push" in done.stderr
    done = plain(
        'func.func @f(%x: f32) { "grad.free"(%x, %x) : (f32, f32) -> () return }', tmp_path
    )
    assert done.returncode != 0 and "expects exactly 1 operands" in done.stderr


def test_an_op_that_no_file_has_is_named() -> None:
    class Copy(Field.Operation, name="copy_of_a_test"):
        pass

    try:
        with (
            ir.Context(load_on_create_dialects=["irdl"]),
            ir.Location.unknown(),
            pytest.raises(RuntimeError, match=r"'field\.copy_of_a_test' in its file"),
        ):
            load_dialects([Field])
    finally:
        Field.operations.remove(Copy)
