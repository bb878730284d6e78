"""Launches that come again in the same order, as graphs of the driver."""
