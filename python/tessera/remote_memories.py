"""Memories of servers and pools. The classes are made from what the program declares; remote_memories.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["remote_memories"])
__all__ = list(_modules()["remote_memories"])
