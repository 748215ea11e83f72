"""Files of one JSON object that say what they are."""

import json

from .errors import PlotError
from .regular_file import open_text


def read_report(path, file_type, written_by):
    """The report in a file of this type. Throws PlotError."""
    try:
        with open_text(path) as file:
            report = json.load(file)
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise PlotError(f"{path}: is no JSON") from error
    if not isinstance(report, dict) or report.get("file_type") != file_type:
        raise PlotError(f"{path}: is not what '{written_by}' writes", exit_code=2)
    return report
