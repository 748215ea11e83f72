"""The ways in which programs that read traces fail."""

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


def ended(action, about):
    """The exit code that a program ends with; says in one line what went wrong with `about`."""
    try:
        action()
    except PlotError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 74
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 74
    except MemoryError:
        print(f"error: {about}: not enough memory to read it", file=sys.stderr)
        return 74
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # a defect of ours, or a file that no writer of ours left
        text = " ".join(str(error).split())
        print(f"error: {about}: cannot be shown: {type(error).__name__}: {text}", file=sys.stderr)
        return 70
    return 0
