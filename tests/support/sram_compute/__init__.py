"""Commands, tDFGs and nests of in-SRAM computing."""
