"""Generates commands from tDFGs and sizes. Source: Infinity Stream, sections 3.4, 4.1 and 4.2."""
