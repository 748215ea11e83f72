"""How tenants of served work share cores. The classes are made from what the program declares; schedulers.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["schedulers"])
__all__ = list(_modules()["schedulers"])
