"""What compute arrays do, row operation by row operation, on NumPy's words."""
