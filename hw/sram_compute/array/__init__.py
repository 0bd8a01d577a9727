"""A compute array, and the rows that are brought to it."""
