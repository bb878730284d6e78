"""The errors of mlirad by the names that Quadrants has for them."""

from mlirad import errors

QuadrantsAssertionError = errors.TaichiAssertionError
QuadrantsCompilationError = errors.TaichiCompilationError
QuadrantsIndexError = errors.TaichiIndexError
QuadrantsNameError = errors.TaichiNameError
QuadrantsRuntimeError = errors.TaichiRuntimeError
QuadrantsRuntimeTypeError = errors.TaichiRuntimeTypeError
QuadrantsSyntaxError = errors.TaichiSyntaxError
QuadrantsTypeError = errors.TaichiTypeError
NAMES = {name: value for name, value in globals().items() if name.startswith("Quadrants")}
__all__ = [name for name in globals() if name.startswith("Quadrants")]
