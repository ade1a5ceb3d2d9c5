"""From repeats to change points, for a whole family at once: `detector` is the order of its steps."""
