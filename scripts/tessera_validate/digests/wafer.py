"""A training step of a whole wafer, which takes a quarter of an hour."""

from digests.rows import part_of

sections = part_of("wafer")
