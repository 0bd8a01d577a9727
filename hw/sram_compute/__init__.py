"""In-SRAM computing: bit-serial arithmetic on the bitlines of SRAM arrays."""
