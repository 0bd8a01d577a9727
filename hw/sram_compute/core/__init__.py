"""The machine behind run control: all units, the vector core and main memory."""
