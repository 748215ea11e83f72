"""The file: the report's JSON, its arrays, its program and its looks in one, without the network."""

import html
import json
import os

from ..errors import PlotError

_HERE = os.path.dirname(os.path.abspath(__file__))
# In this order: later ones use what earlier ones define.
_PROGRAM = ("format", "data", "theme", "dom", "view", "tables", "breakdown", "summary", "charts",
            "timeline", "scale", "maps", "memory", "compare", "sweep", "main")

_PAGE = """<!doctype html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="{program}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header><h1>{title}</h1>
<button type="button" id="theme">Light or dark</button>
<button type="button" id="print">Print</button>
<p>{subtitle}</p></header>
<nav aria-label="Sections"><ul></ul></nav>
<main id="main"><p>Reading …</p><noscript><p>This report needs JavaScript.</p></noscript></main>
<div id="tip" role="tooltip" hidden></div>
<div id="live" aria-live="polite"></div>
<script type="application/json" id="report">{report}</script>
<script type="application/json" id="arrays">{arrays}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""


def _read(*parts):
    with open(os.path.join(_HERE, *parts), encoding="utf-8") as file:
        return file.read()


def _json(value):
    """As text that ends no script: JSON may write a slash as an escape."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False,
                      default=_number)
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def _number(value):
    return value.item()  # one of NumPy


def _program():
    """In one scope of its own, where one declaration of strictness is enough."""
    parts = [_read("app", name + ".js").replace('"use strict";\n', "", 1) for name in _PROGRAM]
    return '(function () {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def page(title, subtitle, report, blobs):
    return _PAGE.format(
        title=html.escape(title), subtitle=html.escape(subtitle),
        program=html.escape(report.get("program", "Tessera")),
        style=_read("vendor", "uPlot.min.css") + _read("style.css"),
        report=_json(report), arrays=json.dumps(blobs.texts),
        library=_read("vendor", "uPlot.iife.min.js"), script=_program())


def write(path, text):
    """Whole or not at all."""
    aside = path + ".new"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(aside, path)
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror or error}") from error
    finally:
        if os.path.exists(aside):
            os.remove(aside)
