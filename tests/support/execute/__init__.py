"""Programs of the execute unit, and machines that run them."""
