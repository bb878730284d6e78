"""Float constants of LLVM IR as text: LLVM 24 writes forms that LLVM 22, which llvmlite holds, does
not read."""

from __future__ import annotations

import re
import struct

_TOKEN = re.compile(
    r'"[^"]*"|(?<![\w.%@])(?P<type>half|bfloat|float|double)(?![\w.])'
    r"|(?<![\w.%@])(?P<bits>f0x[0-9A-F]+)"
    r"|(?<![\w.%@!])(?P<special>[+-](?:inf|s?nan\(0x[0-9a-fA-F]+\)|qnan))(?!\w)"
    r"|(?<![\w.%@!])(?P<decimal>-?\d+\.\d+(?:e[+-]\d+)?)(?![\w.])"
)
_STRUCT = {"half": ("e", "H"), "float": ("f", "I"), "double": ("d", "Q")}


def spell_floats_as_bits(text: str) -> str:
    """LLVM IR with every float constant as its bits, which all versions of LLVM read alike."""
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    """A constant has the type that was named last before it."""
    type_ = "double"

    def spell(match: re.Match[str]) -> str:
        nonlocal type_
        if match["type"]:
            type_ = match["type"]
        elif match["bits"]:
            return _from_bits(int(match["bits"][3:], 16), type_)
        elif match["special"] or match["decimal"]:
            return _from_value(float(re.sub(r"[sq]?nan.*", "nan", match[0])), type_)
        return match[0]

    return _TOKEN.sub(spell, line)


def _from_value(value: float, type_: str) -> str:
    if type_ == "bfloat":
        return _from_bits(_bfloat(value), type_)
    to_float, to_bits = _STRUCT[type_]
    return _from_bits(struct.unpack(f"<{to_bits}", struct.pack(f"<{to_float}", value))[0], type_)


def _bfloat(value: float) -> int:
    """The bits of a float that is known to be a bfloat, or to be nearest to one."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if value == value else bits >> 16


def _from_bits(bits: int, type_: str) -> str:
    """LLVM writes a float as the double of the same value, and the short types as they are."""
    if type_ in ("half", "bfloat"):
        return f"0x{'H' if type_ == 'half' else 'R'}{bits:04X}"
    if type_ == "float":
        bits = struct.unpack(
            "<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", bits))[0])
        )[0]
    return f"0x{bits:016X}"
