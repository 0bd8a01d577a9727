"""Programs of Einsums: statements over named tensors, one after the other."""
