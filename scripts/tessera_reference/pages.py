"""Pages of docs/reference/ as text, made from the object that `tessera list --json` prints."""

FOLDER = ("docs", "reference")
MADE = "*Made by `scripts/reference` from `tessera list --json`; a test compares it with the program.*"
HEAD = ("key", "type", "unit", "default", "range", "required", "help", "source")
# Where the parts of a kind stand in a file. Every kind has a line.
PLACES = {
    "arrivals": "In a file: `workload.tenants[].requests.arrivals` of the workload `serving`, with the keys beside it.",
    "campaign": "The file of `tessera campaign` itself.",
    "collectives": "Algorithms, by name: `strategy.collectives`, `execution.collectives`, `workload.all_reduce` "
                   "of `serving`.",
    "computes": "In a file: the section `machine.compute`, or that of a type in `machine.types`; `model` is the name.",
    "dataflows": "By name: `machine.compute.dataflow` of `systolic` and `systolic-cycle`.",
    "dram-presets": "By name: `machine.memory.preset` of `dram`.",
    "dram-schedulers": "By name: `machine.memory.scheduler` of `dram`.",
    "execution": "In a file: the section `execution`.",
    "experiment": "The file itself.",
    "formats": "By name: `tessera import --from`; keys are given by `--with KEY=VALUE`.",
    "graphs": "In a file: the section `workload`; `kind` is the name.",
    "kinds": "In a file: the section `workload`; `kind` is the name. All kinds of work: those that are models of "
             "layers are in [workloads](workloads.md), graphs in [graphs](graphs.md), too.",
    "layouts": "By name: `strategy.placement.layout`.",
    "machine": "In a file: the section `machine`, and below it those of the names here.",
    "memories": "In a file: the section `machine.memory`; `model` is the name.",
    "models": "In a file for `tessera import`, or in the section `workload` of the kind `onnx`.",
    "networks": "In a file: the section `machine.network`; `model` is the name.",
    "operators": "In a file: an entry of `workload.operators` of the workload `operators`; `kind` is the name.",
    "partitions": "By name: `run.partition`.",
    "patterns": "In a file for `tessera traffic`: the section `traffic`; `pattern` is the name.",
    "policies": "In a file: the section `workload.scheduler` of the workload `serving`; `policy` is the name.",
    "processes": "In a file for `tessera traffic`: the section `traffic`; `process` is the name.",
    "programs": "In a file of its own, which `execution.collectives.programs` names.",
    "remote-memories": "In a file: the section `machine.remote_memory`; `kind` is the name.",
    "run": "In a file: the section `run`.",
    "schedules": "By name: `strategy.schedule`.",
    "serving": "In a file: the section `workload` of the kind `serving`, and below it an entry of `tenants`.",
    "strategy": "In a file: the section `strategy`.",
    "sweep": "The file of `tessera sweep` itself.",
    "synchronizations": "By name: `run.synchronization`.",
    "tenants": "In a file: an entry of `workload.tenants` of the workload `tenants`.",
    "topologies": "In a file: the section `machine.topology`; `kind` is the name.",
    "traffic": "In a file for `tessera traffic`: the section `traffic`.",
    "workloads": "In a file: the section `workload`; `kind` is the name.",
}


def code(text):
    return f"`{text}`" if text else ""


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def range_of(key):
    low, high = key.get("low"), key.get("high")
    if "names" in key:
        return ", ".join(code(name) for name in key["names"])
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else ""


def link(path):
    name = path.rsplit("/", 1)[-1]
    return f"[{name}](../../{path})" if path else ""


def row_of(key):
    """Words in place of a default ("as the topology says") are no code."""
    default = code(key["default"]) if "default" in key else key.get("without", "")
    cost = "*cost*: " if key.get("cost") else ""
    return (code(key["name"]), key.get("type", ""), key.get("unit", ""), default, range_of(key),
            "yes" if key.get("required") else "", cost + key.get("help", ""), link(key.get("source", "")))


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell(each) for each in row) + " |"
    yield ""


def page_of(kind, parts):
    """Parts without keys are rows of one table; each other has a section."""
    lines = [f"# {kind}", "", MADE, "", PLACES[kind], ""]
    plain = [(code(name), part.get("help", "")) for name, part in parts.items() if not part["parameters"]]
    if plain:
        lines += table(("name", "help"), plain)
    for name, part in parts.items():
        if part["parameters"]:
            lines += [f"## {name}", "", f"{part.get('help', '')}", ""]
            lines += table(HEAD, [row_of(key) for key in part["parameters"]])
    return "\n".join(lines).rstrip() + "\n"


def index_of(listed):
    rows = [(f"[{kind}]({kind}.md)", ", ".join(code(name) for name in parts)) for kind, parts in listed.items()]
    return "\n".join(
        ["# Reference", "", MADE, "",
         "Every part and key of Tessera, a page for each kind. The [manual](../manual/experiment.md) explains them. "
         "In a key `NAME` stands for a name of yours and `[]` for the entries of a list.", "",
         "| column | says |", "|---|---|",
         "| type | `size`, `bandwidth`, `time`, `frequency` and `rate of operations` are numbers with a unit; "
         "`fraction` is a number from 0 to 1 or a percentage |",
         "| unit | in which it is counted inside, and in traces |",
         "| default | `as code`: the value where the key is left out; else in words what counts then, and none where "
         "nothing does; empty (`-` in `tessera list`): other keys say whether it has to be there |",
         "| range | least and most, or all names that it may be |",
         "| required | whether it has to be there, wherever its section is |",
         "| help | *cost*: it is about what a run costs or shows, and changes no result |",
         "| source | the file that declares it |", "",
         *table(("kind", "parts"), rows)]).rstrip() + "\n"


def pages_of(listed):
    """Text by file name."""
    missing = set(listed) ^ set(PLACES)
    if missing:
        raise SystemExit(f"error: PLACES and the program's kinds differ: {', '.join(sorted(missing))}")
    return {"README.md": index_of(listed),
            **{f"{kind}.md": page_of(kind, parts) for kind, parts in listed.items()}}


def write(made, root):
    folder = root.joinpath(*FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


def first_difference(text, there):
    pairs = zip(text.splitlines() + [""], there.splitlines() + [""])
    return next((f"line {number}: '{now}', the program says '{due}'"
                 for number, (due, now) in enumerate(pairs, 1) if due != now), "its end")


def faults(made, root):
    """What is wrong with the pages as they stand."""
    folder = root.joinpath(*FOLDER)
    again = "scripts/reference makes it again"
    for name, text in made.items():
        path = folder / name
        if not path.exists():
            yield f"docs/reference/{name} is missing; {again}"
        elif path.read_text(encoding="utf-8") != text:
            yield f"docs/reference/{name}, {first_difference(text, path.read_text(encoding='utf-8'))}; {again}"
    for path in sorted(folder.glob("*.md")):
        if path.name not in made:
            yield f"docs/reference/{path.name}: there is no such kind; {again}"
