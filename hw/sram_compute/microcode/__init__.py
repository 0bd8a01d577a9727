"""Operations on rows, from which the sequencer's ROM, the model and the table of costs come."""
