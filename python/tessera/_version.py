"""The version of the program that this package was made for; scripts/python_stubs.py writes it."""

VERSION = "0.2.0"
