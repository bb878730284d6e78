"""Names of the dialects of which passes of this folder make ops."""

DIALECTS = ("gpu", "nvvm")
