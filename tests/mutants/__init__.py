"""Mutation testing: small changes to the sources, each of which some test has to notice."""
