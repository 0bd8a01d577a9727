"""The TMU's compiler: from loop nests to programs of both units. Source: Ember."""
