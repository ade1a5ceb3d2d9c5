"""Published figures: read from pages, doubted where they deserve it, compared between editions and with series."""

from baselines.references.page import Page, finish, read_page
from baselines.references.reference import Flag, Printed, Reference, as_json, derive

__all__ = ["Flag", "Page", "Printed", "Reference", "as_json", "derive", "finish", "read_page"]
