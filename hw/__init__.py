"""What becomes gates: generators of synthesizable hardware, and the contracts software reads."""
