"""Instructions of the execute unit: selection, order, registers."""
