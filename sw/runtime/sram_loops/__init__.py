"""Loop nests on in-SRAM computing: the target's workloads beside programs of commands."""
