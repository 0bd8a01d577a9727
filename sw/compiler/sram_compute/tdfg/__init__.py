"""The tensor dataflow graph (tDFG). Source: Infinity Stream, section 3.2 and appendix A."""
