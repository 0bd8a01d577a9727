"""Programs of a vector core as far as scalars go."""
