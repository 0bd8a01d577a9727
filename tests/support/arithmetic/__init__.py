"""Numbers, and exact references for what is computed of them."""
