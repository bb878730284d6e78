"""Expressions over floats, each operation where it is smooth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from programs.foreign_functions.writer import LARGEST, Float, Writer

FLAGS = ("", "", "", " fastmath<fast>", " fastmath<contract>", " fastmath<reassoc,nsz>")
Source = Callable[[str], Float]  # a float of a type, to make an expression of
# by the operation: the domain that it needs, and the bound of what it gives
_UNARY: dict[str, tuple[str, Callable[[float], float]]] = {
    "sin": ("any", lambda b: 1.0),
    "cos": ("any", lambda b: 1.0),
    "tanh": ("any", lambda b: 1.0),
    "atan": ("any", lambda b: 1.6),
    "erf": ("any", lambda b: 1.0),
    "asinh": ("any", lambda b: math.asinh(b) + 0.1),
    "absf": ("any", lambda b: b),
    "exp": ("modest", lambda b: math.exp(b)),
    "exp2": ("modest", lambda b: 2.0**b),
    "expm1": ("modest", lambda b: math.exp(b)),
    "sinh": ("modest", lambda b: math.exp(b)),
    "cosh": ("modest", lambda b: math.exp(b)),
    "tan": ("small", lambda b: 1.2),
    "asin": ("small", lambda b: 1.2),
    "acos": ("small", lambda b: 3.2),
    "atanh": ("small", lambda b: 1.2),
    "log": ("positive", lambda b: max(math.log(b), 1.3)),
    "log2": ("positive", lambda b: max(math.log2(b), 1.8)),
    "log10": ("positive", lambda b: max(math.log10(b), 0.6)),
    "log1p": ("positive", lambda b: math.log1p(b)),
    "sqrt": ("positive", lambda b: math.sqrt(b)),
    "rsqrt": ("positive", lambda b: 2.0),
    "cbrt": ("positive", lambda b: b ** (1 / 3) + 0.1),
    "acosh": ("above", lambda b: math.acosh(b)),
    "floor": ("any", lambda b: b + 1),
    "ceil": ("any", lambda b: b + 1),
    "round": ("any", lambda b: b + 1),
    "roundeven": ("any", lambda b: b + 1),
    "trunc": ("any", lambda b: b),
}
_BINARY = (
    *("addf", "subf", "mulf", "mulf", "divf", "negf", "select", "select", "maximumf", "minimumf"),
    *("maxnumf", "minnumf", "fma", "powf", "atan2", "copysign", "fpowi", "cast", "remf"),
)


class Scalars:
    """Writes expressions; some programs use both f32 and f64."""

    def __init__(self, writer: Writer, *, casts: bool) -> None:
        self.writer, self.casts = writer, casts

    def expression(self, source: Source, type_: str, depth: int) -> Float:
        """Write an expression of what the source gives."""
        writer = self.writer
        if depth <= 0 or writer.chance(0.1):
            return source(type_) if writer.chance(0.85) else writer.float(type_)
        operand = self.expression(source, type_, depth - 1)
        if writer.chance(0.35):
            return self.unary(operand)
        return self._binary(operand, source, type_, depth)

    def bounded(self, value: Float, bound: float = LARGEST) -> Float:
        """Write a value that is in a bound, of another."""
        if value.bound <= bound:
            return value
        if self.writer.chance(0.4) and bound >= 1:
            name = self.writer.random.choice(("sin", "tanh", "cos"))
            return self._call(name, value, 1.0)
        return self._scaled(value, bound)

    def sum(self, values: Sequence[Float]) -> Float:
        """Write a sum of values, at least one."""
        total = values[0]
        for value in values[1:]:
            total = self._arith("addf", total, value, total.bound + value.bound)
        return total

    def product(self, left: Float, right: Float) -> Float:
        """Write a product."""
        return self._arith("mulf", left, right, left.bound * right.bound)

    def unary(self, operand: Float) -> Float:
        """Write a function of a value."""
        name = self.writer.random.choice(list(_UNARY))
        domain, bound = _UNARY[name]
        operand = _DOMAINS[domain](self, operand)
        return self._call(name, operand, bound(operand.bound))

    def condition(self, left: Float, right: Float) -> str:
        """Write a comparison; its name."""
        predicate = self.writer.random.choice(("olt", "ogt", "ole", "oge", "ult", "ugt"))
        return self.writer.value(f"arith.cmpf {predicate}, {left.name}, {right.name} : {left.type}")

    def _binary(self, left: Float, source: Source, type_: str, depth: int) -> Float:
        kind = self.writer.random.choice(_BINARY)
        if kind == "cast":
            return self._cast(left, source, depth)
        if kind == "negf":
            flags = self.writer.random.choice(FLAGS)
            name = self.writer.value(f"arith.negf {left.name}{flags} : {type_}")
            return Float(name, type_, left.bound)
        if kind == "fpowi":
            base = self._positive(left) if left.bound > 3 else left
            power = self.writer.random.choice((2, 3, 4))
            exponent = self.writer.value(f"arith.constant {power} : i32")
            name = self.writer.value(f"math.fpowi {base.name}, {exponent} : {type_}, i32")
            return Float(name, type_, base.bound**power + 1)
        right = self.expression(source, type_, depth - 2)
        return _COMBINE.get(kind, Scalars._linear)(self, kind, left, right)

    def _linear(self, kind: str, left: Float, right: Float) -> Float:
        bound = left.bound * right.bound if kind == "mulf" else left.bound + right.bound
        return self._arith(kind, left, right, bound)

    def _select(self, kind: str, left: Float, right: Float) -> Float:
        condition = self.condition(left, right)
        other = self.unary(right)
        name = self.writer.value(
            f"arith.select {condition}, {left.name}, {other.name} : {left.type}"
        )
        return Float(name, left.type, max(left.bound, other.bound))

    def _divide(self, kind: str, left: Float, right: Float) -> Float:
        return self._arith(kind, left, self._positive(right), left.bound * 4)

    def _remainder(self, kind: str, left: Float, right: Float) -> Float:
        divisor = self._positive(right)
        return self._arith(kind, left, divisor, divisor.bound)

    def _power(self, kind: str, left: Float, right: Float) -> Float:
        base = self._positive(left)
        exponent = self.bounded(right, 1.5)
        return self._call_two(kind, base, exponent, max(base.bound, 4.0) ** 1.5)

    def _atan2(self, kind: str, left: Float, right: Float) -> Float:
        return self._call_two(kind, left, self._positive(right), 1.6)

    def _copysign(self, kind: str, left: Float, right: Float) -> Float:
        return self._call_two(kind, left, right, left.bound)

    def _fma(self, kind: str, left: Float, right: Float) -> Float:
        total = self.writer.float(left.type)
        flags = self.writer.random.choice(FLAGS)
        name = self.writer.value(
            f"math.fma {left.name}, {right.name}, {total.name}{flags} : {left.type}"
        )
        return Float(name, left.type, left.bound * right.bound + total.bound)

    def _cast(self, value: Float, source: Source, depth: int) -> Float:
        if not self.casts:
            return self.unary(value)
        other = "f64" if value.type == "f32" else "f32"
        changed = self.unary(self._converted(value, other))
        return self._converted(changed, value.type)

    def _converted(self, value: Float, type_: str) -> Float:
        name = "arith.truncf" if type_ == "f32" else "arith.extf"
        result = self.writer.value(f"{name} {value.name} : {value.type} to {type_}")
        return Float(result, type_, value.bound)

    def _positive(self, value: Float) -> Float:
        """Write a value of at least 0.3."""
        if value.bound > 2.5 or self.writer.chance(0.5):
            shift = self.constant(value.type, value.bound + 0.4)
            return self._arith("addf", value, shift, 2 * value.bound + 0.4)
        square = self._arith("mulf", value, value, value.bound**2)
        return self._arith("addf", square, self.writer.float(value.type, 0.3, 1), square.bound + 1)

    def _small(self, value: Float) -> Float:
        return self._scaled(value, 0.8)

    def _modest(self, value: Float) -> Float:
        return self.bounded(value, 1.5)

    def _above(self, value: Float) -> Float:
        positive = self._positive(value)
        return self._arith("addf", positive, self.constant(value.type, 1.0), positive.bound + 1)

    def _any(self, value: Float) -> Float:
        return value

    def _scaled(self, value: Float, bound: float) -> Float:
        factor = self.constant(value.type, bound / max(value.bound, bound))
        return self._arith("mulf", value, factor, bound)

    def constant(self, type_: str, number: float) -> Float:
        """Write a number."""
        text = f"{number:.6e}"
        return Float(self.writer.value(f"arith.constant {text} : {type_}"), type_, abs(number))

    def _call(self, name: str, value: Float, bound: float) -> Float:
        flags = self.writer.random.choice(FLAGS)
        result = self.writer.value(f"math.{name} {value.name}{flags} : {value.type}")
        return Float(result, value.type, bound)

    def _call_two(self, name: str, left: Float, right: Float, bound: float) -> Float:
        flags = self.writer.random.choice(FLAGS)
        text = f"math.{name} {left.name}, {right.name}{flags} : {left.type}"
        return Float(self.writer.value(text), left.type, bound)

    def _arith(self, name: str, left: Float, right: Float, bound: float) -> Float:
        flags = self.writer.random.choice(FLAGS)
        text = f"arith.{name} {left.name}, {right.name}{flags} : {left.type}"
        return Float(self.writer.value(text), left.type, bound)


_DOMAINS: dict[str, Callable[[Scalars, Float], Float]] = {
    "any": Scalars._any,
    "modest": Scalars._modest,
    "small": Scalars._small,
    "positive": Scalars._positive,
    "above": Scalars._above,
}
_COMBINE: dict[str, Callable[[Scalars, str, Float, Float], Float]] = {
    "select": Scalars._select,
    "divf": Scalars._divide,
    "remf": Scalars._remainder,
    "powf": Scalars._power,
    "atan2": Scalars._atan2,
    "copysign": Scalars._copysign,
    "fma": Scalars._fma,
}
