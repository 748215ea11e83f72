"""Experiments that take minutes."""

from digests.rows import part_of

sections = part_of("long")
