"""The types of an op in short form: written, fixed, or found by the names of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlirad.errors import MLIRError
from mlirad.ir.assembly.expansion import Placed
from mlirad.ir.assembly.forms import ELEMENT, Form
from mlirad.ir.assembly.scopes import Scopes
from mlirad.ir.assembly.tokens import element_of

Fail = Callable[[int, str], MLIRError]  # the error for a place
_MARKED = ("!field.array<", "!grad.")


class Types:
    """The types of the operands and the results of an op, by the letters of its form."""

    def __init__(
        self, form: Form, operands: Mapping[str, Sequence[Placed]], scopes: Scopes, fail: Fail
    ) -> None:
        self.form, self.operands, self.scopes, self.fail = form, operands, scopes, fail
        self.letters: dict[str, list[Placed]] = {}

    def bind(self, written: Sequence[Placed], place: int) -> None:
        """Find all types, with those that are written. Raises MLIRError if one is not known, or too
        many are written."""
        self._bind_written(written, place)
        for letter, name in self.form.holders.items():
            if letter not in self.letters:
                self.letters[letter] = [self._type_at_definition(name)]
        if "H" in self.letters and ELEMENT not in self.letters and self._uses_element():
            self.letters[ELEMENT] = [self._element(*self.letters["H"])]
        for letter in self.form.types:
            if letter.removesuffix("*") not in self.letters:
                raise self.fail(place, "expected ':' and a type")

    def _bind_written(self, written: Sequence[Placed], place: int) -> None:
        letters = self.form.types
        if written and self._are_of_holders(written):
            letters = list(self.form.holders)
        if letters and letters[0].endswith("*"):
            self.letters[letters[0].removesuffix("*")] = list(written)
            return
        if written and len(written) != len(letters):
            raise self.fail(place, _wrong_number(len(letters), len(written)))
        for letter, type_ in zip(letters, written):
            self.letters[letter] = [type_]

    def _are_of_holders(self, written: Sequence[Placed]) -> bool:
        holders = list(self.form.holders)
        is_marked = not self.form.types or written[0][0].startswith(_MARKED)
        return bool(holders) and is_marked and self.form.types != holders

    def _type_at_definition(self, name: str) -> Placed:
        value, place = self.operands[name][0]
        type_ = self.scopes.types.get(value)
        if type_ is None:
            raise self.fail(
                place, f"the type of {value} is not known here: write it at the end, ': TYPE'"
            )
        return type_, -1

    def _element(self, holder: Placed) -> Placed:
        element = element_of(holder[0])
        if element is None:
            place = holder[1] if holder[1] >= 0 else self._place_of_holder()
            raise self.fail(place, f"{holder[0]} is not a type with elements")
        return element, -1

    def _place_of_holder(self) -> int:
        return self.operands[self.form.holders["H"]][0][1]

    def _uses_element(self) -> bool:
        return ELEMENT in self.form.operands.values() or ELEMENT in self.form.results

    def of_operands(self, place: int) -> list[Placed]:
        """Return the types of all operands. Raises MLIRError for a wrong number of types."""
        types = list[Placed]()
        for name, letter in self.form.operands.items():
            group = self.operands[name]
            if not _is_letter(letter):
                types += [(letter, -1)] * len(group)
                continue
            listed = self.letters.get(letter, [])
            if len(listed) != len(group) and (group or f"{letter}*" not in self.form.results):
                raise self.fail(place, _wrong_number(len(group), len(listed)))
            types += listed if group else []
        return types

    def of_results(self) -> list[str]:
        """Return the types of the results."""
        types = list[str]()
        for result in self.form.results:
            letter = result.removesuffix("*")
            if _is_letter(letter):
                types += [type_ for type_, _ in self.letters.get(letter, [])]
            elif letter != result:
                types += [letter] * len(next(iter(self.operands.values()), []))
            else:
                types.append(letter)
        return types


def _wrong_number(expected: int, written: int) -> str:
    return f"expected {expected} type{'s' * (expected != 1)}, not {written}"


def _is_letter(type_: str) -> bool:
    return len(type_) == 1
