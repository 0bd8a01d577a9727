"""Cheaper tDFGs by equality saturation. Source: Infinity Stream, section 3.2 and appendix A."""
