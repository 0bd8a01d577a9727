"""From tDFGs and sizes to commands. Source: Infinity Stream, sections 3.4, 4.1 and 4.2."""
