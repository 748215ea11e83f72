"""Models of how memory is accessed. The classes are made from what the program declares; memories.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["memories"])
__all__ = list(_modules()["memories"])
