"""Pages as MkDocs takes them: docs/ and the pages of results/, with links that stay inside the site.

A link to a file of the tree that is no page of the site becomes the path of that file. A notebook becomes a
page of its texts and its code, and lies beside it to be downloaded.
"""

import json
import os
import pathlib
import re
import shutil

KATEX = pathlib.Path("/usr/share/javascript/katex")
KATEX_FILES = ("katex.min.css", "katex.min.js", "contrib/auto-render.js")
# Beside docs/ and results/: files of the root, by their name in the site.
OTHERS = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
# What has another page in the site.
STANDS_FOR = {"README.md": "index.md", "docs": "index.md", "docs/design": "design/0001-rooms.md",
              "docs/reference": "reference/README.md", "docs/tutorials": "tutorials/README.md",
              "results": "results/README.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)((?:\s+\"[^\"]*\")?)\)")
FENCE = re.compile(r"^```.*?^```$|`[^`\n]+`(?!\])", re.MULTILINE | re.DOTALL)


def place_of(path):
    """Of a path from the root of the tree: its path in the site, or None."""
    path = str(path)
    if path in STANDS_FOR:
        return STANDS_FOR[path]
    if path in OTHERS:
        return OTHERS[path]
    if path.startswith("docs/") and "." in path.rsplit("/", 1)[-1]:
        return re.sub(r"\.ipynb$", ".notebook.md", path[len("docs/"):])
    if path.startswith("results/") and path.endswith((".md", ".svg")):
        return path
    return None


def relinked(text, path, root):
    """The text of the page at `path` with the site's links."""
    place = place_of(path)

    def link(match):
        picture, label, target, title = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        target, mark, anchor = target.partition("#")
        real = os.path.normpath(path.parent / target)
        there = place_of(real)
        if there is None or not (root / real).exists():
            return f"{label} (`{real}`)" if label.strip("`") not in real else f"`{real}`"
        return f"{picture}[{label}]({os.path.relpath(there, os.path.dirname(place) or '.')}{mark}{anchor}{title})"

    pieces, end = [], 0
    for code in FENCE.finditer(text):
        pieces += [LINK.sub(link, text[end:code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, LINK.sub(link, text[end:])])


def page_of(notebook, name):
    """Texts and code of a notebook."""
    cells = json.loads(notebook)["cells"]
    texts = ["".join(cell["source"]) if cell["cell_type"] == "markdown"
             else "```python\n" + "".join(cell["source"]) + "\n```" for cell in cells]
    texts.insert(1, f"*This is the notebook [{name}]({name}) without its outputs.*")
    return "\n\n".join(texts) + "\n"


def documents(root):
    """Paths from the root of all that goes into the site."""
    yield from (pathlib.Path(name) for name in OTHERS)
    for folder in ("docs", "results"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and place_of(path.relative_to(root)):
                yield path.relative_to(root)


def stage(root, folder):
    """Puts all pages into a folder; what is missing for it."""
    for path in documents(root):
        target = folder / place_of(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(relinked((root / path).read_text(encoding="utf-8"), path, root), encoding="utf-8")
        elif path.suffix == ".ipynb":
            text = page_of((root / path).read_text(encoding="utf-8"), path.name)
            target.write_text(relinked(text, path, root).replace(
                f"[{path.name}]({target.name})", f"[{path.name}]({path.name})"), encoding="utf-8")
            shutil.copy(root / path, target.parent)
        else:
            shutil.copy(root / path, target)
    return list(bring_katex(folder / "assets" / "katex"))


def bring_katex(folder):
    if not (KATEX / "katex.min.js").exists():
        yield "no KaTeX; install libjs-katex and fonts-katex"
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in KATEX_FILES:
        shutil.copy(KATEX / name, folder)
    shutil.copytree(KATEX / "fonts", folder / "fonts", ignore=shutil.ignore_patterns("*.ttf", "*.woff"))
