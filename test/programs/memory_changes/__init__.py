"""A table of programs: every way that memory changes, in every place that memory has, in every mode
of differentiation, against numbers that carry exact derivatives."""
