"""Parts that every generator uses. Nothing here knows a target's configuration."""
