"""Values that become several scalars, through loops, branches, calls and functions."""
