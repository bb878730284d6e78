"""Functions around those of a vector library, as text of LLVM's dialect."""

from __future__ import annotations

import msgspec

_PURE = (
    "memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, "
    "errnoMem = none, targetMem0 = none, targetMem1 = none>, no_unwind, will_return"
)


class LibraryFunction(msgspec.Struct, frozen=True):
    """A function of the library: of some vectors of an element type. `alone`: LLVM's function of
    scalars, where that is the faster for one by far."""

    symbol: str
    arguments: int
    element: str
    lanes: int
    alone: str = ""

    def declaration(self) -> str:
        """The function, which has no side effects."""
        vector = _type(self.element, self.lanes)
        parameters = ", ".join([vector] * self.arguments)
        return f"llvm.func @{self.symbol}({parameters}) -> {vector} attributes {{{_attributes()}}}"

    def definition(self, symbol: str, lanes: int, variants: dict[int, str]) -> str:
        """A function of fewer lanes, or of scalars, by itself in machine code; the vectorizer is
        told its variants by their lanes."""
        type_ = _type(self.element, lanes)
        listed = ",".join(
            f"_ZGV_LLVM_N{count}{'v' * self.arguments}_{symbol}({variant})"
            for count, variant in variants.items()
        )
        names = [f"%a{number}" for number in range(self.arguments)]
        parameters = ", ".join(f"{name}: {type_}" for name in names)
        called = self._alone(names) if lanes == 1 and self.alone else self._pad(names, lanes)
        return "\n".join(
            [
                f"llvm.func internal @{symbol}({parameters}) -> {type_} "
                f"attributes {{no_inline, {_attributes(listed)}}} {{",
                *called,
                f"llvm.return %result : {type_}",
                "}",
            ]
        )

    def _alone(self, names: list[str]) -> list[str]:
        types = ", ".join([self.element] * len(names))
        return [f"%result = {self.alone}({', '.join(names)}) : ({types}) -> {self.element}"]

    def _pad(self, names: list[str], lanes: int) -> list[str]:
        """A call with the arguments in all lanes, in turn, of which the first are the result."""
        full = _type(self.element, self.lanes)
        types = ", ".join([full] * len(names))
        called = f"llvm.call @{self.symbol}({', '.join(f'{name}.full' for name in names)})"
        return [
            "%zero = llvm.mlir.constant(0 : i64) : i64",
            *(line for name in names for line in self._spread(name, lanes)),
            f"%all = {called} : ({types}) -> {full}",
            f"%result = llvm.extractelement %all[%zero : i64] : {full}"
            if lanes == 1
            else f"%result = llvm.shufflevector %all, %all {[*range(lanes)]} : {full}",
        ]

    def _spread(self, name: str, lanes: int) -> list[str]:
        mask = [lane % lanes for lane in range(self.lanes)]
        full, type_ = _type(self.element, self.lanes), _type(self.element, lanes)
        if lanes > 1:
            return [f"{name}.full = llvm.shufflevector {name}, {name} {mask} : {type_}"]
        return [
            f"{name}.poison = llvm.mlir.poison : {full}",
            f"{name}.one = llvm.insertelement {name}, {name}.poison[%zero : i64] : {full}",
            f"{name}.full = llvm.shufflevector {name}.one, {name}.poison {mask} : {full}",
        ]


def keep_functions(symbols: list[str]) -> str:
    """The list of functions that LLVM must not remove before anything calls them."""
    array = f"!llvm.array<{len(symbols)} x ptr>"
    lines = ["%0 = llvm.mlir.undef : " + array]
    for number, symbol in enumerate(symbols):
        lines += [
            f"%p{number} = llvm.mlir.addressof @{symbol} : !llvm.ptr",
            f"%{number + 1} = llvm.insertvalue %p{number}, %{number}[{number}] : {array}",
        ]
    body = "\n".join(lines)
    return (
        'llvm.mlir.global appending @llvm.compiler.used() {section = "llvm.metadata", '
        f"addr_space = 0 : i32}} : {array} {{\n{body}\nllvm.return %{len(symbols)} : {array}\n}}"
    )


def _type(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"vector<{lanes}x{element}>"


def _attributes(variants: str = "") -> str:
    told = f', ["vector-function-abi-variant", "{variants}"]' if variants else ""
    return f'{_PURE}, passthrough = ["nosync", "nofree"{told}]'
