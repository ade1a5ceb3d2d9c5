"""One module for each group of pages; each has a `router`."""
