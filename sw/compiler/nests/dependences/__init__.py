"""Which accesses of an array may touch the same word, and how many iterations apart."""
