"""One word out of what was found and compared."""
