"""The one way in which drawing fails."""


class PlotError(Exception):
    """A one-line message and the exit code it ends with: 2 bad request, 74 damaged or missing files."""

    def __init__(self, message, exit_code=74):
        super().__init__(message)
        self.exit_code = exit_code


class NothingToDraw(PlotError):
    """The run holds no data for one picture; the others can still be drawn."""

    def __init__(self, message):
        super().__init__(message, exit_code=2)
