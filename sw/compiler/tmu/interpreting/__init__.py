"""Modules of all levels in xDSL's interpreter."""
