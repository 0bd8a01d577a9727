"""What programs of the execute unit do, without time: the binaries, interpreted."""
