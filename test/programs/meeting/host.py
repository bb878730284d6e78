"""The Python around kernels: launches in loops and branches, and writes between them; and whole
programs as text."""

from __future__ import annotations

from random import Random

from programs.meeting.expressions import Expressions
from programs.meeting.kernels import Kernel, KernelWriter
from programs.meeting.places import NUMBERS, Place, Places

HEADER = "import numpy as np\n\nimport mlirad as ti\n"


class Program:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.places = Places(random)
        self.modes = self._modes()
        if len(self.modes) == 1 and random.random() < 0.7:
            self.places.begin = self.places.short_begin()
        self.functions: list[str] = []
        texts = self._functions()
        self.kernels: list[Kernel] = []
        count = random.choice([1, 1, 2])
        for k in range(count + 1):
            functions = self.functions if random.random() < 0.7 else []
            writer = KernelWriter(random, functions, self.places.all, self.places.trees, f"k{k}")
            texts.append(writer.measuring() if k == count else writer.written())
            self.kernels.append(writer.kernel)
        self.lines: list[str] = []
        self.depth = 1
        self._host()
        begin = "\n".join(f"    {line}" for line in self.places.begin)
        self.text = "\n".join(
            [
                HEADER,
                f"MODES = {self.modes}",
                NUMBERS,
                "\n".join(self.places.lines),
                *(f"\n{text}" for text in texts),
                f"\ndef prepare():\n{begin}",
                "\ndef program():\n" + "\n".join(self.lines) + "\n",
            ]
        )

    def _functions(self) -> list[str]:
        """`pick` returns early, `pair` returns two values."""
        random = self.random
        expressions = Expressions(random, [])
        expressions.scope.floats, expressions.scope.fixed = ["p", "q"], ["k"]
        e = expressions
        if random.random() < 0.8:
            self.functions.append("pick")
        pick = f"""@ti.func
def pick(p, q, k):
    if {e.condition()}:
        return {e.bounded(1)}
    for s in range(k % 4):
        p = ti.tanh(p + q * 0.3)
        if s == {random.randrange(4)}:
            return p * {e.leaf()}
    return {e.bounded(2)}
"""
        pair = f"""@ti.func
def pair(p, q, k):
    if {e.condition()}:
        return {e.bounded(1)}, k % 3
    if {e.condition()}:
        return p * 0.3, 1
    return {e.bounded(1)}, k % 4
"""
        if random.random() < 0.5:
            pair = f"""@ti.func
def pair(p, q, k):
    r = {e.bounded(1)}
    if {e.condition()}:
        r = {e.bounded(1)}
    return r * q, k % 3
"""
        return [pick, pair]

    # The host.

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def _host(self) -> None:
        random = self.random
        self.emit("result = 0.7")
        for _ in range(random.randint(2, 3)):
            random.choice([self._launch, self._launch, self._loop, self._branch, self._write])()
        self._loop()
        if random.random() < 0.4:
            self._write()
        if random.random() < 0.4:
            self._launch()
        self._call(self.kernels[-1])

    def _launch(self, counter: str = "") -> None:
        self._call(self.random.choice(self.kernels[:-1]), counter)

    def _call(self, kernel: Kernel, counter: str = "") -> None:
        arguments = []
        for _, what in kernel.parameters:
            if what == "float":
                number = self.random.choice([f"{self.random.uniform(-1, 1):.2f}", "result * 0.3"])
                arguments.append(f"0.1 * {counter} + {number}" if counter else number)
            elif what == "constant":
                arguments.append(self.random.choice(["0", "1", "2", counter or "1"]))
            elif what == "int":
                arguments.append(counter or str(self.random.randrange(4)))
            elif isinstance(what, Place):
                arguments.append(what.name)
            elif isinstance(what, list):
                arguments.append(self.random.choice(what).name)
        self.emit("result = " * kernel.returns + f"{kernel.name}({', '.join(arguments)})")

    def _loop(self) -> None:
        """A loop of launches, sometimes checkpointed."""
        random, count = self.random, self.random.randint(2, 3)
        allowed = [
            kernel
            for kernel in self.kernels[:-1]
            if not any(place.kind == "numpy" for place in kernel.writes)
        ]
        self.depth += 1
        first = len(self.lines)
        if allowed and random.random() < 0.25:
            chosen = [random.choice(allowed) for _ in range(random.randint(1, 2))]
            for kernel in chosen:
                self._call(kernel, "t")
            state = self._state(chosen)
            places = [place for place in self._floats() if place.kind != "numpy"]
            if random.random() < 0.4:
                state.append(random.choice(places).name)
                self._write_place(next(p for p in places if p.name == state[-1]), "t")
            names = ", ".join(sorted(set(state)))
            steps = f"ti.ad.checkpointed(range({count + 1}), state=[{names}], snapshots=2)"
        else:
            for _ in range(random.randint(1, 2)):
                random.choice([self._launch, self._launch, self._branch, self._write])("t")
            steps = f"range({count})"
        self.depth -= 1
        self.lines.insert(first, "    " * self.depth + f"for t in {steps}:")

    def _state(self, kernels: list[Kernel]) -> list[str]:
        """What kernels write, and what may become active or inactive."""
        names = [place.name for place in self.places.all if place.tree]
        for kernel in kernels:
            stand_ins = [w for _, w in kernel.parameters if isinstance(w, list)]
            for place in kernel.writes:
                alternatives = stand_ins[0] if place.name == "t" else [place]
                names += [other.name for other in alternatives]
        return names

    def _branch(self, counter: str = "") -> None:
        tests = ["result < 0.4"] if not counter else [f"{counter} % 2 == 0", f"{counter} > 0"]
        integers = [p for p in self.places.all if p.is_integer and not p.tree]
        for place in integers:
            index = ", ".join(str(self.random.randrange(extent)) for extent in place.extents)
            tests += [f"{place.name}[{index}] % 2 == 0", f"{place.name}[{index}] > 2"]
        fields = [p for p in self.places.all if p.kind == "field" and not p.element and p.extents]
        place = self.random.choice(fields)
        if not place.is_integer:
            index = ", ".join(str(self.random.randrange(extent)) for extent in place.extents)
            tests.append(f"{place.name}[{index}] < {self.random.uniform(0.3, 0.9):.3f}")
        self.emit(f"if {self.random.choice(tests)}:")
        self.depth += 1
        self._launch(counter)
        self.depth -= 1

    def _write(self, counter: str = "") -> None:
        """A write by Python."""
        if self.places.trees and self.random.random() < 0.35:
            tree = self.random.choice(self.places.trees)
            name = self.random.choice(tree.blocks)[0]
            choices = [f"{name}.deactivate_all()"] * 2 + ["ti.deactivate_all_snodes()"]
            self.emit(self.random.choice(choices))
        else:
            self._write_place(self.random.choice(self._floats()), counter)

    def _floats(self) -> list[Place]:
        return [p for p in self.places.all if p.extents and not p.is_integer]

    def _write_place(self, place: Place, counter: str) -> None:
        """Write to elements of a memory, or copy another one."""
        value = f"{self.random.uniform(-1, 1):.2f}" + (f" + 0.1 * {counter}" if counter else "")
        index = ", ".join(str(self.random.randrange(extent)) for extent in place.extents)
        shape = ", ".join(map(str, place.extents + place.element))
        name, component = place.name, ""
        if place.element:
            component = f"[{', '.join('1' for _ in place.element)}]"
        choices = [f"{name}[{index}]{component} = {value}"]
        if not place.element and not place.tree:
            choices.append(f"{name}[1:3] = {value}")
        if place.kind == "numpy":
            choices += [f"{name}[...] = {value}", f"{name}[::2] = {value}"]
        else:
            seed = self.random.randrange(100)
            choices += [f"{name}.fill({value})", f"{name}.from_numpy(numbers({seed}, {shape}))"]
            alike = (place.extents, place.element)
            others = [p for p in self._floats() if (p.extents, p.element) == alike]
            sources = [p.name for p in others if p is not place and p.kind != "numpy"]
            choices += [f"{name}.copy_from({self.random.choice(sources)})"] * 3 if sources else []
        self.emit(self.random.choice(choices))

    def _modes(self) -> list[str]:
        """What is done with the program, in order."""
        random = self.random
        tape = "tape"
        if not self.places.trees and random.random() < 0.4:
            tape = random.choice(["tape 0.5", "tape 0.8"])
        modes = [tape]
        has_numpy = any(place.kind == "numpy" for place in self.places.all)
        if not has_numpy and random.random() < 0.3:
            second = random.choice(["forward 1", "forward 2", "hvp", "hvp"])
            modes.insert(random.randrange(2), second)
        if random.random() < 0.4:
            modes.insert(0, "run")
        return modes
