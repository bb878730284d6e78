"""What NVIDIA's tools make of PTX, where they are found: `ptxas`, `nvcc`, and `nvdisasm` for the
instructions of the chip."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class Assembled:
    """One kernel for one chip."""

    name: str
    registers: int
    local: int  # bytes of a thread's stack
    spilled: int  # bytes, stored and loaded
    shared: int  # bytes of a block
    loops: tuple[str, ...]  # the instructions of the chip in each innermost loop, one after another
    instructions: int  # of all of the kernel; 0 where no nvdisasm was found


@cache
def tool(name: str) -> str | None:
    """A program of the CUDA toolkit, on the path or from a wheel."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    wheels = [str(p) for folder in folders or [] for p in Path(folder).glob(f"*/bin/{name}")]
    return shutil.which(name) or next(iter(wheels), None)


def assemble(ptx: str, *, disassemble: bool = True) -> list[Assembled]:
    """The kernels of a text, assembled for the chip it is for, and disassembled where there is an
    nvdisasm. Raises RuntimeError where ptxas refuses the text, or there is none."""
    chip = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    assert chip is not None, "no .target: not PTX"
    with TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx)
        notes = _run("ptxas", "-v", f"-arch={chip[1]}", str(source), "-o", str(binary))
        listing = _run("nvdisasm", "-c", str(binary)) if disassemble and tool("nvdisasm") else ""
    return _kernels(notes, listing)


def compile_cuda(source: Path, chip: str) -> str:
    """The PTX of a file in CUDA C++. Raises RuntimeError where nvcc refuses it, or there is
    none."""
    with TemporaryDirectory() as folder:
        written = Path(folder, "kernels.ptx")
        _run("nvcc", f"-arch={chip}", "-O3", "-ptx", str(source), "-o", str(written))
        return written.read_text()


def _run(name: str, *options: str) -> str:
    found = tool(name)
    if found is None:
        raise RuntimeError(f"no {name}: neither on the path nor in a wheel of NVIDIA's")
    done = subprocess.run([found, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} {' '.join(options)}:\n{done.stderr}")
    return done.stdout + done.stderr


_NOTES = re.compile(
    r"entry function '(?P<name>\w+)'.*?(?P<local>\d+) bytes stack frame, "
    r"(?P<stored>\d+) bytes spill stores, (?P<loaded>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def _kernels(notes: str, listing: str) -> list[Assembled]:
    code = _code(listing)
    found = []
    for note in _NOTES.finditer(notes):
        shared = re.search(r"(\d+) bytes smem", note["rest"])
        lines = code.get(note["name"], [])
        found.append(
            Assembled(
                note["name"],
                int(note["registers"]),
                int(note["local"]),
                int(note["stored"]) + int(note["loaded"]),
                int(shared[1]) if shared else 0,
                _innermost_loops(lines),
                sum(not line.endswith(":") for line in lines),
            )
        )
    return sorted(found, key=lambda kernel: kernel.name)


def _code(listing: str) -> dict[str, list[str]]:
    """The instructions and the labels of each kernel, up to the end of what it reaches."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^\t?\.section\t", listing, flags=re.MULTILINE):
        name = re.match(r'"?\.text\.(\w+)', section)
        if name is not None:
            lines = re.findall(r"^(\.L_x_\d+:)|/\*[0-9a-f]{4,}\*/ +(.*?);", section, re.MULTILINE)
            body = [label or " ".join(text.split()) for label, text in lines]
            found[name[1]] = [line for line in body if line != "NOP"]
    return found


def _innermost_loops(lines: list[str]) -> tuple[str, ...]:
    """From each label to the branch back to it, where no other such loop lies within."""
    places = {line[:-1]: number for number, line in enumerate(lines) if line.endswith(":")}
    spans = []
    for number, line in enumerate(lines):
        target = re.search(r"\bBRA\b.*\((\.L_x_\d+)\)", line)
        start = places.get(target[1], number) if target is not None else number
        # a branch to itself ends the kernel, and what is behind its exit is for broken warps
        if start < number - 1 and "EXIT" not in lines[start:number]:
            spans.append((start, number))
    inner = [
        span
        for span in spans
        if not any(o != span and span[0] <= o[0] and o[1] <= span[1] for o in spans)
    ]
    return tuple(
        "\n".join(line for line in lines[start : end + 1] if not line.endswith(":"))
        for start, end in inner
    )
