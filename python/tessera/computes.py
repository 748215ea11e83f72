"""Models of how long operators take. The classes are made from what the program declares; computes.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["computes"])
__all__ = list(_modules()["computes"])
