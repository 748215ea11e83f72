#!/usr/bin/env python3
"""Compares the documents with the program.

    check_docs.py TESSERA REPOSITORY CHECK [FOLDER]

CHECK is one of
  trace_format  docs/trace-format.md has the root attributes, tables, fields, types, units and
                descriptions of a fresh trace, and no others
  manual        the pages of docs/ have every option of the commands and every key of a summary, lead to
                each page of docs/reference, and explain no key that no part has
  blocks        blocks of code in README.md and docs/ are fenced, each with its language (blocks.py)
  commands      with a folder of docs/, or README: blocks of commands in its pages, run (blocks.py), or held
                against what there is (unrun.py)
  long_commands blocks that take a copy of the machine (long_blocks.py), of all pages or those of one name;
                ends with 77 without root
  site          scripts/site builds docs/ as a site, strictly; ends with 77 where MkDocs or KaTeX is missing
  reference     docs/reference is what `tessera list --json` says
  excerpts      the code in docs/adding-a-part.md is in the tree, line by line, and that of the tutorial of
                a network in its notebook
  links         every relative link of a document leads to a file, and every file of the tree that one names
                is there (paths.py)
  figures       figures that documents take from the pages under results/ are those of the pages
  limits        what README.md says that Tessera leaves out (limits.py)
  promises      the tests that docs/design/0029-no-silent-answers.md names are there (promises.py)
  quickstart    the table in README.md is what the quickstart's experiment gives, but for speeds
"""
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPERIMENT = """
name: small
machine:
  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}
  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 KiB}
  dram: {at: edge, edges: [west], bandwidth: 50 GB/s, latency: 100 ns}
workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, vocabulary: 64,
  batch: 4}
strategy: {pipeline: 2, tensor: 2}
run: {trace: full, bins: 4}
"""

EXCERPTED = ["src/network/analytical.cpp", "src/network/packet/packet.cpp", "src/network/CMakeLists.txt",
             "tests/unit/network/uncontended_test.cpp"]

# Runs in a Python that has h5py, which need not be this one.
READ_SCHEMA = """
import h5py, json, sys

def type_of(d):
    if d.subdtype:
        return type_of(d.subdtype[0]) + " a table"
    return "text%d" % d.itemsize if d.kind == "S" else d.kind + str(8 * d.itemsize)

def schema(dataset):
    text = lambda name: dataset.attrs[name].decode()
    return {"description": text("description"),
            "fields": [[f, type_of(dataset.dtype[f]), text("unit." + f), text("description." + f)]
                       for f in dataset.dtype.names]}

found = {}
for path in sys.argv[1:]:
    with h5py.File(path, "r", libver="latest", swmr=not path.endswith("index.h5")) as file:
        found[path] = {"attributes": {n: v.decode() for n, v in file.attrs.items()},
                       "order": [n.decode() for n in file["commit"].attrs["tables"]]
                                if "commit" in file else [],
                       "tables": {name: schema(file[name]) for name in file}}
print(json.dumps(found))
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=400, check=True, **options).stdout.decode()


def python_with_h5py():
    for python in [sys.executable, "python3", "/usr/bin/python3"]:
        try:
            run(python, "-c", "import h5py", stderr=subprocess.DEVNULL)
            return python
        except (OSError, subprocess.CalledProcessError):
            continue
    raise SystemExit("no Python with h5py; apt-get install python3-h5py")


def small_run(tessera, scratch):
    experiment = pathlib.Path(scratch) / "small.yaml"
    experiment.write_text(EXPERIMENT, encoding="utf-8")
    folder = pathlib.Path(scratch) / "run"
    run(tessera, "run", experiment, "-q", "-o", folder)
    return folder


def rows_of(lines):
    """Cells of the table rows below the head, without backticks."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in lines if line.startswith("|")]
    return [[cell.strip("`") for cell in row] for row in rows[2:]]


def sections_of(text):
    """Lines below each heading."""
    sections, lines = {}, []
    for line in text.splitlines():
        if line.startswith("#"):
            lines = sections.setdefault(line.lstrip("# ").strip("`"), [])
        else:
            lines.append(line)
    return sections


def differences(what, written, real):
    if written != real:
        yield "%s: the document has\n  %s\nthe file\n  %s" % (what, written, real)


def compare_table(name, lines, schema):
    sentence = next((line for line in lines if line.strip()), "")
    sentence = sentence[:1].lower() + sentence[1:]
    yield from differences(name, sentence, schema["description"] + ".")
    yield from differences(name, rows_of(lines), schema["fields"])


def trace_format(tessera, repository):
    sections = sections_of((repository / "docs/trace-format.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = small_run(tessera, scratch)
        paths = [str(folder / "trace.00000.h5"), str(folder / "index.h5")]
        found = json.loads(run(python_with_h5py(), "-c", READ_SCHEMA, *paths))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    trace, index = (found[path] for path in paths)

    written = sorted(row[0] for row in rows_of(sections["Root attributes"]))
    yield from differences("root attributes", written, sorted(trace["attributes"]))
    yield from differences("root attributes of the index",
                           [name for name in written if name not in ("rank", "segment")],
                           sorted(index["attributes"]))
    title = "Trace format " + trace["attributes"]["format_version"]
    if title not in sections:
        yield "the title is not '%s'" % title
    after = list(sections)[list(sections).index("Tables") + 1:]
    yield from differences("tables", after[:len(trace["order"])], trace["order"])
    yield from differences("tables", after[len(trace["order"])], "/commit")
    yield from differences("tables of the trace", sorted(trace["tables"]),
                           sorted(trace["order"] + ["commit"]))
    yield from differences("tables of the index", sorted(index["tables"]),
                           sorted(trace["order"] + ["ranks"]))
    for name in trace["order"]:
        yield from compare_table(name, sections.get(name, []), trace["tables"][name])
    yield from compare_table("commit", sections["/commit"], trace["tables"]["commit"])
    text = "\n".join(sections["manifest.json` and `summary.json"])
    for key in list(manifest) + list(manifest["files"][1]):
        if "`%s`" % key not in text:
            yield "the manifest's key '%s' is not described" % key


def commands_of(usage):
    """Of `tessera --help`: the first words of the indented lines."""
    return [line.split()[0] for line in usage.splitlines() if re.match(r"  [a-z]", line)]


def keys_of(summary):
    yield from (key for key in summary if key not in ("file_type", "format_version"))
    yield from (key for key in summary["breakdown"]["total"] if key != "tiles")


def unknown_keys(text, listed):
    """Keys that tables of the manual explain, each below a link to its page, and that no part has."""
    rows = re.findall(r"^(?:Keys|Of a tenant. Keys): (.*)\n\n\| key \| more \|\n\|---\|---\|\n((?:\|.*\n)+)", text,
                      re.MULTILINE)
    if len(rows) < 20:
        yield "the manual has %d tables of keys only" % len(rows)
    for head, table in rows:
        known = set()
        for kind in re.findall(r"reference/([\w-]+)\.md", head):
            for part, entry in listed[kind].items():
                names = [key["name"] for key in entry["parameters"]]
                known.update(names, ["%s.%s" % (part, name) for name in names],
                             ["types.NAME.%s" % name for name in names])
                known.update(name.rsplit(".", 1)[0] for name in list(known) if "." in name)
        for line in table.splitlines():
            for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
                if name not in known and name + "[]" not in known:
                    yield "the manual explains '%s', which is no key" % name


# What tables say beyond the reference stands in these folders of docs/.
MANUAL = ("manual", "how-to")


def manual(tessera, repository):
    text = "\n".join(page.read_text(encoding="utf-8") for folder in MANUAL
                     for page in sorted((repository / "docs" / folder).glob("*.md")))
    for page in sorted((repository / "docs" / "reference").glob("*.md")):
        if "](../reference/%s" % page.name not in text:
            yield "the manual does not lead to docs/reference/%s" % page.name
    yield from unknown_keys(text, json.loads(run(tessera, "list", "--json")))
    for command in commands_of(run(tessera, "--help")):
        for option in re.findall(r"--[a-z][a-z-]*", run(tessera, command, "--help")):
            if option != "--help" and option not in text and option != "--format":
                yield "option %s of %s is not in the manual" % (option, command)
    with tempfile.TemporaryDirectory() as scratch:
        summary = small_run(tessera, scratch) / "summary.json"
        for key in keys_of(json.loads(summary.read_text(encoding="utf-8"))):
            if "`%s`" % key not in text:
                yield "key '%s' of summary.json is not in the manual" % key


def blocks(tessera, repository):
    import blocks as code
    import unrun
    yield from code.form(repository)
    yield from unrun.self_test(tessera, repository)


def commands(tessera, repository, group):
    import blocks as code
    yield from code.run_all(tessera, repository, group)


def long_commands(_, repository, *names):
    import long_blocks
    yield from long_blocks.run_all(repository, names)


def site(_, repository):
    if not shutil.which("mkdocs") or not pathlib.Path("/usr/share/javascript/katex").exists():
        print("skipped: no MkDocs or no KaTeX; scripts/site installs them")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([sys.executable, repository / "scripts" / "tessera_site", scratch], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            yield done.stdout.decode(errors="replace")
        elif not list(pathlib.Path(scratch).glob("*/methods/network-flow.html")):
            yield "the site has no page of the network flow"


def reference(tessera, repository):
    sys.path.insert(0, str(repository / "scripts" / "tessera_reference"))
    import pages
    import schemas
    listed = json.loads(run(tessera, "list", "--json"))
    yield from pages.faults(pages.pages_of(listed), repository)
    yield from schemas.faults(schemas.schemas_of(tessera), repository)


def notebook_excerpts(folder):
    import blocks as code
    cells = json.loads((folder / "own_network.ipynb").read_text(encoding="utf-8"))["cells"]
    known = {line.strip() for cell in cells for line in "".join(cell["source"]).splitlines()}
    page = (folder / "own-network.md").read_text(encoding="utf-8")
    for language, _, body, *_ in code.blocks(page):
        for line in body.splitlines() if language == "cpp" else ():
            if line.strip() not in known:
                yield "own-network.md: not in the notebook any more: %s" % line.strip()


def excerpts(_, repository):
    sources = "\n".join((repository / name).read_text(encoding="utf-8") for name in EXCERPTED)
    page = repository / "docs/adding-a-part.md"
    for line in page.read_text(encoding="utf-8").splitlines():
        is_command = line.lstrip().startswith(("scripts/", "build/"))
        if line.startswith("    ") and not is_command and line.strip() not in sources:
            yield "not in the tree any more: %s" % line.strip()
    yield from notebook_excerpts(repository / "docs/tutorials")


def links(_, repository):
    import paths as named_paths
    pages = [*repository.glob("*.md"), *(repository / "docs").rglob("*.md"),
             *(repository / "results").glob("*.md")]
    if not pages:
        yield "no documents found"
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not (page.parent / target).exists():
                yield "%s: no file %s" % (page.relative_to(repository), target)
    yield from named_paths.faults(repository)


def figures(_, repository):
    sys.path.insert(0, str(repository / "scripts" / "tessera_validate"))
    import figures as stated
    yield from stated.faults(repository)


def promises(tessera, repository):
    import promises as named
    yield from named.promises(tessera, repository)


def limits(tessera, repository):
    import limits as stated
    with tempfile.TemporaryDirectory() as scratch:
        program = stated.Program(tessera, repository, scratch, python_with_h5py())
        yield from stated.faults(program)


def quickstart(tessera, repository):
    """Lines of the machine that it ran on differ."""
    own = re.compile("^(events|wall time|memory) ")
    with tempfile.TemporaryDirectory() as scratch:
        real = run(tessera, "run", repository / "configs/experiments/quickstart.yaml", "-q", "-o",
                   pathlib.Path(scratch) / "run")
    text = (repository / "README.md").read_text(encoding="utf-8")
    begin = text.index("status          finished")
    written = text[begin:text.index("\n```", begin)].splitlines()
    real = real[:real.index("results in ")].splitlines()
    for line, real_line in itertools.zip_longest(written, real, fillvalue=""):
        if line != real_line and not (own.match(line) and own.match(real_line)):
            yield "README.md: '%s', where a run says '%s'" % (line, real_line)


CHECKS = {check.__name__: check
          for check in (trace_format, manual, blocks, commands, long_commands, site, reference, excerpts, links,
                        figures, limits, promises, quickstart)}


def main():
    tessera, repository, name, *more = sys.argv[1:]
    faults = list(CHECKS[name](pathlib.Path(tessera).resolve(), pathlib.Path(repository).resolve(), *more))
    print("\n".join(faults) or "the documents agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
