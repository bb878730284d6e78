"""Elementary functions: one table of them (`table.py`), and the algebra of their derivatives
(`terms.py`)."""
