"""What people look at: read-only answers as plain values, the same for pages, API and command line.

Every function takes a session and gives frozen dataclasses that hold no rows; `tracker.store.views.plain.to_plain`
turns them into JSON values. The number of statements does not grow with the number of rows shown.
"""
