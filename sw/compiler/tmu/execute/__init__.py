"""Instructions of the execute unit, from the cases of a DLC program."""
