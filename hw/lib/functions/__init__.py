"""Elementary functions of floating-point numbers: their tables and their datapaths."""
