"""What TMU programs do, without time: the binaries, interpreted; see ``execute_model``."""
