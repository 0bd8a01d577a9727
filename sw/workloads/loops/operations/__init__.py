"""Embedding operations of machine learning as loop nests.

Source: Ember (the TMU's compiler), table I.
"""
