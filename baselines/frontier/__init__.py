"""The Pareto front of a sweep, and how two of them differ."""
