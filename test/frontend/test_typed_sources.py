"""Kernels without a file: typed at a prompt, in a heredoc, in a pipe."""

from __future__ import annotations

import os
import platform
import pty
import subprocess
import sys
from pathlib import Path

import pytest

STATEMENTS = """import mlirad as ti
ti.init(log_level=ti.ERROR)
@ti.func
def double(n):
    return 2 * n

@ti.kernel
def run(n: int) -> int:
    return double(n)

print(run(21))
def make(factor):
    @ti.kernel
    def run(n: int) -> int:
        return factor * n
    return run

print(make(4)(21))
@ti.kernel
def wrong(n: int) -> int:
    return n + missing

"""
ENVIRONMENT = {
    **{name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"},
    "TERM": "dumb",
    "PYTHON_BASIC_REPL": "1",
}
ERROR = "wrong(1)\n"
buffered = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the buffer of the standard input is glibc's"
)


def output(options: list[str], text: str, **inputs: object) -> str:
    process = subprocess.run(
        [sys.executable, *options],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        **({"input": text} | inputs),
    )
    return process.stdout + process.stderr


@buffered
@pytest.mark.parametrize("options", [["-"], [], ["-i", "-q"]], ids=["-", "none", "-i"])
def test_a_pipe(options: list[str]) -> None:
    """Bash gives a short heredoc as a pipe, other shells all of them."""
    text = output(options, STATEMENTS + ERROR)
    assert "42\n" in text and "84\n" in text
    assert "return n + missing\n" in text and 'Name "missing" is not defined' in text


@buffered
def test_a_heredoc_of_a_shell() -> None:
    program = f"'{sys.executable}' - <<'EOF'\n{STATEMENTS}\nEOF\n"
    process = subprocess.run(
        ["sh", "-c", program], capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert process.stdout == "42\n84\n"


def test_a_pipe_that_is_gone() -> None:
    """What is longer than the buffer is not kept."""
    text = output(["-"], "#" * 50 + "\n" + "x = 1\n" * 1000 + STATEMENTS)
    assert "cannot read the source of 'run', which comes from standard input" in text
    assert "Put it in a file" in text


def test_a_prompt_that_reads_a_file(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(STATEMENTS + ERROR)
    with file.open() as given:
        text = output(["-i", "-q"], "", input=None, stdin=given)
    assert "42\n" in text and "84\n" in text and "return n + missing\n" in text


def test_a_prompt_in_a_terminal() -> None:
    pytest.importorskip("readline")
    outer, inner = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-q"], stdin=inner, stdout=inner, stderr=inner, env=ENVIRONMENT
    ) as process:
        os.close(inner)
        os.write(outer, f"{STATEMENTS}{ERROR}exit()\n".encode())
        text = b""
        try:
            while block := os.read(outer, 4096):
                text += block
        except OSError:  # the terminal has been closed
            pass
        process.wait()
    os.close(outer)
    lines = text.decode().splitlines()
    assert "42" in lines and "84" in lines
    assert any('Name "missing" is not defined' in line for line in lines)
