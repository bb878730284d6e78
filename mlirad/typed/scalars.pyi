"""The scalar types: as annotations, the Python numbers that are passed; as arguments, dtypes."""

from typing import TypeAlias

f16: TypeAlias = float
f32: TypeAlias = float
f64: TypeAlias = float
i8: TypeAlias = int
i16: TypeAlias = int
i32: TypeAlias = int
i64: TypeAlias = int
u1: TypeAlias = bool
u8: TypeAlias = int
u16: TypeAlias = int
u32: TypeAlias = int
u64: TypeAlias = int
float16: TypeAlias = float
float32: TypeAlias = float
float64: TypeAlias = float
int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
uint1: TypeAlias = bool
uint8: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
uint64: TypeAlias = int
