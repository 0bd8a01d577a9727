"""How a command ends that was interrupted; imports nothing, so that it is known at once."""

STATUS = 130
LINE = "gnarl: interrupted"
