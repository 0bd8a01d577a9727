"""Compiles loop nests to programs of the execute unit: what targets that have one share."""
