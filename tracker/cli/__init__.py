"""The command line: it reads the views, asks the service, and holds no rules of its own."""
