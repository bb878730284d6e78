"""Kernels without a file: typed at a prompt, in a heredoc, in a pipe."""

from __future__ import annotations

import os
import platform
import pty
import re
import select
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


class Terminal:
    """A process of Python with a terminal of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.outer, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-q"], stdin=inner, stdout=inner, stderr=inner, env=environment
        )
        os.close(inner)
        self.text = ""

    def read_until(self, word: str) -> None:
        """Read what the process prints, without the codes of the terminal."""
        while word not in self.text:
            assert select.select([self.outer], [], [], 60)[0], self.text
            try:
                block = os.read(self.outer, 4096)
            except OSError:  # the terminal has been closed
                return
            text = block.decode(errors="replace")
            self.text += re.sub(r"\x1b[\[?][0-9;?]*[a-zA-Z>=~]|\x1b[>=]", "", text)

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self.outer, text.encode())

    def end(self) -> list[str]:
        """Return the lines that were shown."""
        self.read_until("\0")
        self.process.wait()
        os.close(self.outer)
        return self.text.splitlines()


def test_a_prompt_in_a_terminal() -> None:
    pytest.importorskip("readline")
    terminal = Terminal(ENVIRONMENT)
    terminal.type(f"{STATEMENTS}{ERROR}exit()\n")
    lines = terminal.end()
    assert "42" in lines and "84" in lines
    assert any('Name "missing" is not defined' in line for line in lines)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="came with Python 3.13")
def test_the_prompt_of_python_3_13() -> None:
    environment = {name: text for name, text in ENVIRONMENT.items() if name != "PYTHON_BASIC_REPL"}
    terminal = Terminal(environment | {"TERM": "xterm"})
    for statement in STATEMENTS.partition("def make")[0].split("\n\n"):
        terminal.read_until(">>> ")
        terminal.text = ""
        terminal.type(f"\x1b[200~{statement}\x1b[201~\n")
        terminal.type("\n" * ("def" in statement))
    terminal.type("exit()\n")
    assert "42" in terminal.end()
