"""Memory as the units of a core see it."""
