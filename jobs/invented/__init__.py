"""An engine that does not exist, and recordings of measurements that nobody made: what `tracker demo` shows first.

`story.toml` holds what is true of it, `recordings` adds noise. Its names say on every page and in every message
that it is invented.
"""

from __future__ import annotations

from jobs.invented.recordings import write_lines
from jobs.invented.story import Change, Hardware, Model, Story, load_story

__all__ = ["Change", "Hardware", "Model", "Story", "load_story", "write_lines"]
