"""Loop nests from Python functions, which are read and never executed."""
