"""Sections of a machine and of an experiment that have one form. The classes are made from what the program declares; parts.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["parts"])
__all__ = list(_modules()["parts"])
