"""Calls in a kernel: functions that are inlined, recursive, or have derivatives, and what the
language brings along."""
