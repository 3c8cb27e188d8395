"""The commands: `watchword NAME` is in the module NAME."""
