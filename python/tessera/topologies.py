"""Topologies of machines: nodes and links. The classes are made from what the program declares; topologies.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["topologies"])
__all__ = list(_modules()["topologies"])
