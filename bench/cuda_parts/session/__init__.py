"""Half an hour on a GPU, unattended: steps in order of worth, each saved when it is done."""
