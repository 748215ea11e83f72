"""A run, a comparison or a sweep as one HTML file. `tessera report` and `tessera compare` are the way in."""
