"""What type checkers see of the public names, where Python's own annotations cannot say it: dtypes
that are annotations, fields that loops iterate over, kernels that keep their parameters."""
