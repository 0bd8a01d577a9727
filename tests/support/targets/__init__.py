"""Small targets, as other packages would add them."""
