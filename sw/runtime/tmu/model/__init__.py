"""What TMU programs do, without time: the binaries, interpreted."""
