"""What is computed. The classes are made from what the program declares; workloads.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["workloads"])
__all__ = list(_modules()["workloads"])
