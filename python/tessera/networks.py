"""Models of how messages travel. The classes are made from what the program declares; networks.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["networks"])
__all__ = list(_modules()["networks"])
