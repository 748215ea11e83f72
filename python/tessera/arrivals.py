"""Requests to a served model: what is asked, and when. The classes are made from what the program declares; arrivals.pyi
has them for editors and type checkers."""

from .sections import modules as _modules

globals().update(_modules()["arrivals"])
__all__ = list(_modules()["arrivals"])
