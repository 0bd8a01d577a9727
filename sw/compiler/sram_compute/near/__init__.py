"""Loop nests for the stream engines of in-SRAM computing."""
