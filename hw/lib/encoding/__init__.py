"""Instructions as words, fields and text, with those of the execute unit: what compilers share."""
