"""Access programs, and programs of the TMU."""
