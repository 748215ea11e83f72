"""What is wrong with a site that was built: links that lead nowhere, formulas that KaTeX cannot read, what a
page would load from another machine, pages that the navigation leaves out."""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse

from stage import KATEX

# Read by node: formulas in, those that do not parse out.
CHECK = """
const katex = require(process.argv[1]);
for (const [page, text, display] of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
  try { katex.renderToString(text, {throwOnError: true, displayMode: display, strict: 'error'}); }
  catch (error) { console.log(page + ': ' + error.message); }
}
"""
LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(html.parser.HTMLParser):
    """Anchors, links, what is loaded and formulas of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded, self.formulas, self.formula = set(), [], [], [], None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors.update(named[key] for key in ("id", "name") if named.get(key))
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag in LOADING and named.get(LOADING[tag]) and named.get("rel") != "canonical":
            self.loaded.append(named[LOADING[tag]])
        if "arithmatex" in (named.get("class") or ""):
            self.formula = ""

    def handle_data(self, data):
        if self.formula is not None:
            self.formula += data

    def handle_endtag(self, tag):
        if self.formula is not None and tag in ("span", "div"):
            text = self.formula.strip()
            self.formulas.append((text[2:-2], text.startswith("\\[")))
            self.formula = None


def outside_navigation(settings, source):
    """Pages that mkdocs.yml does not lead to."""
    named = set(re.findall(r"([\w./-]+\.md)\s*$", settings.read_text(encoding="utf-8"), re.MULTILINE))
    return [f"{page.relative_to(source)} is not in the navigation of mkdocs.yml"
            for page in sorted(source.rglob("*.md")) if str(page.relative_to(source)) not in named]


def leads_nowhere(pages, path, link):
    target = urllib.parse.urlsplit(link)
    if target.scheme or target.netloc or link in ("#", "."):
        return False
    real = (path.parent / urllib.parse.unquote(target.path)).resolve() if target.path else path
    real = real / "index.html" if real.is_dir() else real
    if not real.exists():
        return True
    return bool(target.fragment) and real in pages and urllib.parse.unquote(target.fragment) not in pages[real].anchors


def unreadable(formulas):
    if not formulas or not shutil.which("node"):
        return []
    done = subprocess.run(["node", "-e", CHECK, str(pathlib.Path(KATEX) / "katex.min.js")], input=json.dumps(formulas),
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def faults(site):
    site = site.resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    found, formulas = [], []
    for path, page in pages.items():
        name = str(path.relative_to(site))
        found += [f"{name}: no such place: {link}" for link in page.links if leads_nowhere(pages, path, link)]
        found += [f"{name}: loads {link}" for link in page.loaded if "//" in link]
        formulas += [(name, text, display) for text, display in page.formulas]
    found += [f"{path.relative_to(site)}: loads {link}" for path in sorted(site.rglob("*.css"))
              for link in re.findall(r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)", path.read_text(encoding="utf-8"))]
    return found + unreadable(formulas)
