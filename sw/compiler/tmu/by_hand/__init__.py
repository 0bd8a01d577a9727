"""The operations of Ember's table I and of merging as programs written by hand.

They say how good the compiler's programs are: ``ref-dae``, for both units, and the best program for
the execute unit alone. Source: Ember, table III and figure 16.
"""
