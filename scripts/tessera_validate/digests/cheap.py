"""Experiments that run within 2 s on one rank."""

from digests.rows import part_of

sections = part_of("cheap")
