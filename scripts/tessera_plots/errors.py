"""The ways in which programs that read traces fail."""

import argparse
import json
import os
import sys


class PlotError(Exception):
    """A one-line message and the exit code it ends with: 2 bad request, 74 damaged or missing files."""

    def __init__(self, message, exit_code=74):
        super().__init__(message)
        self.exit_code = exit_code


class NothingToDraw(PlotError):
    """The run holds no data for one picture; the others can still be drawn."""

    def __init__(self, message):
        super().__init__(message, exit_code=2)


def named(text):
    """A name that options take, for argparse: an empty one would count as none."""
    if not text:
        raise argparse.ArgumentTypeError("is empty")
    return text


def _said(message, code, as_json):
    """The code, after the error was written: as text, and where it was asked for as JSON
    (docs/schemas/error.schema.json)."""
    print(f"error: {message}", file=sys.stderr)
    if as_json:
        complaint = {"message": message, "file": None, "line": None, "column": None}
        json.dump({"error": {**complaint, "exit_code": code, "rank": None, "complaints": [complaint]}}, sys.stdout,
                  ensure_ascii=False)
        print(flush=True)
    return code


def ended(action, about, as_json=False):
    """The exit code that a program ends with; says in one line what went wrong with `about`."""
    try:
        action()
    except PlotError as error:
        return _said(str(error), error.exit_code, as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 74
    except OSError as error:
        return _said(str(error), 74, as_json)
    except MemoryError:
        return _said(f"{about}: not enough memory to read it", 74, as_json)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # a defect of ours, or a file that no writer of ours left
        text = " ".join(str(error).split())
        return _said(f"{about}: cannot be shown: {type(error).__name__}: {text}", 70, as_json)
    return 0
