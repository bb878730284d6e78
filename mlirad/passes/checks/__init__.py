"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.dialect.activity import IsActiveOp

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "check-visited-cells": (IsActiveOp.OPERATION_NAME,),
}
