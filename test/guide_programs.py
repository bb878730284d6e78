"""The programs of the guide's chapters, run block by block, and what each block says it prints.

    PYTHONPATH=test python -m guide_programs CHAPTER [MODULE]

shows what each block prints (of those that need MODULE), and where that is not what stands in the
chapter.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
TOLERANCE = 1e-6  # relative, and one unit of the last digit that is printed
_END = "\x1e"  # behind what a block prints
_FENCED = re.compile(
    r"(?:^<!-- needs: (?P<needs>\w+) -->\n)?^```python\n(?P<code>.*?)^```$"
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
_SAID = re.compile(r"^print\(.*  # (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")
# as one program behind `program.py`, so that lines in messages are those of all blocks together
_RUNNER = """
import sys
space = {"__name__": "__main__", "__file__": "program.py"}
text = open("program.py").read()
above = 0
for number, block in enumerate(text.split("#\\x1e\\n")):
    exec(compile("\\n" * above + block, "program.py", "exec"), space)
    above += block.count("\\n") + 1
    print("\\x1e", flush=True)
"""


@dataclass(frozen=True)
class Block:
    """A program, or part of one; `needs` is a module without which it is not run."""

    code: str
    said: str
    needs: str


def blocks_of(chapter: Path) -> list[Block]:
    """In the order of the text."""
    return [
        Block(
            found["code"],
            found["output"] or "".join(f"{line}\n" for line in _SAID.findall(found["code"])),
            found["needs"] or "",
        )
        for found in _FENCED.finditer(chapter.read_text())
    ]


def printed(blocks: list[Block]) -> list[str]:
    """What each block prints, run in one process, errors and warnings among it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(f"#{_END}\n".join(block.code for block in blocks))
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", _RUNNER],
            cwd=folder,
            text=True,
            timeout=300,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    assert done.returncode == 0, done.stdout
    return [part.lstrip("\n") for part in done.stdout.split(f"{_END}\n")[: len(blocks)]]


def differences_behind(said: str, found: str) -> list[str]:
    """The same of the last lines only: other systems greet first."""
    lines = found.splitlines(keepends=True)
    return differences(said, "".join(lines[-len(said.splitlines()) :]))


def differences(said: str, found: str) -> list[str]:
    """Lines that differ in words, or in numbers by more than rounding and the tolerance."""
    expected, lines = said.splitlines(), found.splitlines()
    wrong = [f"said {a!r}, printed {b!r}" for a, b in zip(expected, lines) if not _alike(a, b)]
    if len(expected) != len(lines):
        wrong.append(f"said {len(expected)} lines, printed {len(lines)}:\n{found}")
    return wrong


def _alike(said: str, found: str) -> bool:
    words, other = _NUMBER.split(said), _NUMBER.split(found)
    if [_packed(word) for word in words] != [_packed(word) for word in other]:
        return False
    return all(map(_close, _NUMBER.findall(said), _NUMBER.findall(found)))


def _packed(words: str) -> str:
    """Without blanks, which NumPy pads its columns with."""
    return "".join(words.split())


def _close(said: str, found: str) -> bool:
    if re.fullmatch(r"[-+]?\d+", said):  # counts, lines, bytes
        return said == found
    digits, _, power = said.lower().partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(float(said) - float(found)) <= last + TOLERANCE * abs(float(said))


def main(name: str, needs: str = "") -> None:
    """Show a chapter's blocks, those that need a module: what they print, and what differs."""
    (chapter,) = GUIDE.glob(f"{name}*.md")
    blocks = [block for block in blocks_of(chapter) if block.needs == needs]
    for number, (block, found) in enumerate(zip(blocks, printed(blocks)), 1):
        wrong = (differences_behind if needs else differences)(block.said, found)
        print(f"--- {number}: {'differs' if wrong else 'ok'}\n{found}", end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
