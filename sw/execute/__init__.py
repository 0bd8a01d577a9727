"""Programs of the execute unit, a vector core: what they compute, and how long they take."""
