"""In-SRAM computing: its model."""
