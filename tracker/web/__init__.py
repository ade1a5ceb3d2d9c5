"""Pages and API: the same facts as the command line, read from the views and written through the service."""
