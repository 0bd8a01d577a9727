"""The DPU as its instructions see it: an interpreter of the binary."""
