"""Loop nests over arrays: their IR, the Python frontend, and the binding of arrays to them."""
