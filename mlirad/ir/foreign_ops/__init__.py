"""Ops of dialects that are not ours: the derivatives and lowerings that programs register."""
