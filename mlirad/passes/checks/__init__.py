"""What passes of this folder look for: names of ops without which they do nothing, and are not
loaded."""

from mlirad.dialect.activity import IsActiveOp

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "check-visited-cells": (IsActiveOp.OPERATION_NAME,),
}
