"""Programs that import `quadrants` by its name, unchanged."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import quadrants as qd
from quadrants.lang import impl
from quadrants._kernels import tensor_to_ext_arr
from quadrants.linalg import SparseMatrixBuilder
import numpy as np
qd.init()
x = qd.field(qd.f32, shape=3)
@qd.kernel
def fill():
    for i in x:
        x[i] = i
fill()
out = np.zeros(3, np.float32)
tensor_to_ext_arr(x, out)
print(out.tolist(), sys.argv[1:], qd.__name__, __name__)
assert SparseMatrixBuilder is qd.linalg.SparseMatrixBuilder
"""
SEEN = "[0.0, 1.0, 2.0] ['--fast'] mlirad.quadrants __main__\n"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_program_is_run(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert run("-m", "mlirad.quadrants", str(path), "--fast").stdout == SEEN


def test_a_module_is_run(tmp_path: Path, monkeypatch: object) -> None:
    (tmp_path / "program_as_module.py").write_text(PROGRAM)
    text = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv[1:] = "
    text += "['-m', 'program_as_module', '--fast']; import mlirad.quadrants.__main__ as m; m.main()"
    assert run("-c", text).stdout == SEEN


def test_without_a_program_it_says_how_it_is_used() -> None:
    result = run("-m", "mlirad.quadrants")
    assert result.returncode == 1
    assert "usage: python -m mlirad.quadrants" in result.stderr


def test_quadrants_itself_is_not_replaced_once_loaded() -> None:
    text = "import sys, types; sys.modules['quadrants'] = types.ModuleType('quadrants')\n"
    result = run("-c", text + "import mlirad.quadrants.alias")
    assert "ImportError: mlirad.quadrants.alias: Quadrants itself was imported" in result.stderr
