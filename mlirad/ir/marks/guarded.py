"""Ops that would end the process for some operands, and have others instead then."""

GUARDED = "field.guarded"  # of divisions whose divisor, and loops whose step, is chosen
