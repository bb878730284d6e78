"""Statements and expressions of Python to IR: the dispatcher, scopes, a function for each kind of
node."""
