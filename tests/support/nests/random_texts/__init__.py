"""Random nests as Python text, of all that the notation has but calls; and values for them."""
