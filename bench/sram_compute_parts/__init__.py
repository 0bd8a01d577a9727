"""Parts of the benchmark of in-SRAM computing."""
