#!/usr/bin/env python3
"""Writes a NetworkX graph as a workload of vertices, or as the topology of a machine
(docs/manual/graphs.md, "Graphs of vertices", and docs/manual/machine.md, "Topology `graph`").

    import networkx, graph_yaml
    graph = networkx.DiGraph(tensors=[{"name": "weights", "bytes": 30e9}])
    graph.add_node("forward", start=True, flops=195e9, bytes=80e6, remote=40e6,
                   uses=["weights", {"tensor": "weights", "bytes": 1e9}])
    graph.add_node("sync", collective="all-reduce", bytes=1e9, at="0-7")
    graph.add_edge("forward", "sync")
    graph.add_edge("sync", "forward")
    graph_yaml.write(graph, "workload.yaml", access="coherent", iterations=3)

    machine = networkx.Graph()  # a DiGraph has links of one direction
    machine.add_node("xpu0", type="h100")
    machine.add_node("pool", kind="memory", capacity=1e12)
    machine.add_edge("xpu0", "pool", bandwidth=128e9, latency=200e-9)
    graph_yaml.write_topology(machine, "machine.yaml")

Attributes have the names of the keys there; numbers are FLOP, bytes, bytes a second and seconds. As
a program it reads GraphML (.graphml, where tensors and uses are JSON) or NetworkX's node-link JSON
(.json).
"""
import argparse
import json
import pathlib
import re
import sys

# Of a vertex, a tensor, a node and an edge, with the unit of plain numbers.
VERTEX_KEYS = {"start": "", "at": "", "flops": "FLOP", "bytes": "B", "remote": "B",
               "remote_written": "B", "uses": "", "collective": "", "root": "", "gather": "", "from": "", "to": ""}
EDGE_KEYS = {"first": ""}
TENSOR_KEYS = {"name": "", "bytes": "B", "at": "", "priority": ""}
USE_KEYS = {"tensor": "", "bytes": "B", "written": "B"}
NODE_KEYS = {"kind": "", "type": "", "capacity": "B", "of": ""}
LINK_KEYS = {"bandwidth": "B/s", "latency": "s", "count": ""}
KINDS = ("tile", "switch", "memory")
# The form NetworkX gives to what is not named: GraphML cannot have an attribute called from or to.
OTHER_NAMES = {"source": "from", "target": "to"}


def quoted(text):
    return json.dumps(str(text), ensure_ascii=False)


def scalar(value, unit):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and unit:
        # Of times whole picoseconds, of others whole units.
        return f"{round(value * 10 ** 12)} ps" if unit == "s" else f"{round(value)} {unit}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(scalar(one, "") for one in value) + "]"
    return str(value) if isinstance(value, (int, float)) else quoted(value)


def mapping(pairs):
    return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"


def pairs_of(what, attributes, keys):
    """Texts of the keys and values. Raises ValueError naming `what`."""
    pairs = []
    for key, value in attributes.items():
        if key not in keys:
            raise ValueError(f"{what}: attribute {key} is none of {', '.join(keys)}")
        try:
            pairs.append((key, scalar(value, keys[key])))
        except (OverflowError, ValueError) as error:
            raise ValueError(f"{what}: {key}: {error}") from error
    return pairs


def list_of(what, value):
    """A list, or one as JSON: GraphML has no lists."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"{what}: is no JSON: {error}") from error
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{what}: must be a list")
    return value


def uses_text(what, value):
    texts = []
    for use in list_of(what, value):
        if isinstance(use, dict):
            if "tensor" not in use:
                raise ValueError(f"{what}: a use without tensor")
            texts.append(mapping(pairs_of(what, use, USE_KEYS)))
        else:
            texts.append(quoted(use))
    return "[" + ", ".join(texts) + "]"


def vertex_line(name, attributes):
    what = f"vertex {name}"
    named = {OTHER_NAMES.get(key, key): value for key, value in attributes.items()}
    uses = named.pop("uses", None)
    pairs = [("name", quoted(name))] + pairs_of(what, named, VERTEX_KEYS)
    if uses is not None:
        pairs.append(("uses", uses_text(f"{what}: uses", uses)))
    return mapping(pairs)


def edge_line(source, target, attributes):
    ends = [("from", quoted(source)), ("to", quoted(target))]
    return mapping(ends + pairs_of(f"edge {source} to {target}", attributes, EDGE_KEYS))


def tensor_line(number, tensor):
    what = f"tensor {number}"
    if not isinstance(tensor, dict) or "name" not in tensor or "bytes" not in tensor:
        raise ValueError(f"{what}: must have name and bytes")
    return mapping(pairs_of(f"tensor {tensor['name']}", {**tensor, "name": str(tensor["name"])},
                            TENSOR_KEYS))


def text_of(graph, access="move", iterations=1, name="graph"):
    """The workload as YAML. Raises ValueError for an attribute that is not known."""
    lines = [f"name: {quoted(name)}", "kind: graph", f"access: {access}",
             f"iterations: {iterations}"]
    tensors = list_of("tensors", graph.graph.get("tensors", []))
    if tensors:
        lines.append("tensors:")
        lines += ["  - " + tensor_line(*tensor) for tensor in enumerate(tensors)]
    lines.append("vertices:")
    lines += ["  - " + vertex_line(*vertex) for vertex in graph.nodes(data=True)]
    lines.append("edges:" if graph.number_of_edges() else "edges: []")
    lines += ["  - " + edge_line(*edge) for edge in graph.edges(data=True)]
    return "\n".join(lines) + "\n"


def node_line(name, attributes):
    what = f"node {name}"
    # Dots, brackets and the like are parts of paths there.
    if not re.fullmatch(r"[\w-]+", str(name)):
        raise ValueError(f"{what}: a name must be of letters, digits, _ and -")
    if attributes.get("kind", "tile") not in KINDS:
        raise ValueError(f"{what}: kind {attributes['kind']} is none of {', '.join(KINDS)}")
    return mapping([("name", quoted(name))] + pairs_of(what, attributes, NODE_KEYS))


def link_line(source, target, attributes, one_way):
    what = f"edge {source} to {target}"
    for key in ("bandwidth", "latency"):
        if key not in attributes:
            raise ValueError(f"{what}: has no {key}")
    pairs = [("from", quoted(source)), ("to", quoted(target))] + pairs_of(what, attributes, LINK_KEYS)
    return mapping(pairs + ([("directions", "one")] if one_way else []))


def topology_of(graph, name="graph"):
    """The machine as YAML, without what its nodes can do. Raises ValueError."""
    lines = [f"name: {quoted(name)}", "topology:", "  kind: graph", "  nodes:"]
    lines += ["    - " + node_line(*node) for node in graph.nodes(data=True)]
    lines.append("  links:")
    lines += ["    - " + link_line(*edge, graph.is_directed()) for edge in graph.edges(data=True)]
    return "\n".join(lines) + "\n"


def write(graph, path, **settings):
    pathlib.Path(path).write_text(text_of(graph, **settings), encoding="utf-8")


def write_topology(graph, path, **settings):
    pathlib.Path(path).write_text(topology_of(graph, **settings), encoding="utf-8")


def read_node_link(path, directed):
    """Versions of NetworkX disagree on how edges are called."""
    import networkx
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise ValueError("has no list of nodes, as NetworkX's node-link data have")
    kinds = {(False, False): networkx.Graph, (False, True): networkx.MultiGraph,
             (True, False): networkx.DiGraph, (True, True): networkx.MultiDiGraph}
    graph = kinds[bool(data.get("directed", directed)), bool(data.get("multigraph", False))]()
    graph.graph.update(data.get("graph") or {})
    for node in data["nodes"]:
        if not isinstance(node, dict) or "id" not in node:
            raise ValueError(f"a node without id: {json.dumps(node)[:60]}")
        graph.add_node(node["id"], **{key: value for key, value in node.items() if key != "id"})
    for link in data.get("links", data.get("edges", [])):
        if not isinstance(link, dict) or link.get("source") not in graph or \
                link.get("target") not in graph:
            raise ValueError(f"an edge between no nodes: {json.dumps(link)[:60]}")
        graph.add_edge(link["source"], link["target"],
                       **{key: value for key, value in link.items()
                          if key not in ("source", "target", "key")})
    return graph


def read(path, directed=True):
    import networkx
    if path.suffix == ".graphml":
        return networkx.read_graphml(path)
    if path.suffix == ".json":
        return read_node_link(path, directed)
    raise ValueError("must end in .graphml or .json")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=pathlib.Path, help=".graphml or .json")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--topology", action="store_true",
                        help="write a machine file with the graph as its topology")
    parser.add_argument("--access", choices=("move", "coherent"), default="move")
    parser.add_argument("--iterations", type=int, default=1)
    arguments = parser.parse_args()
    try:
        graph = read(arguments.graph, not arguments.topology)
        if arguments.topology:
            text = topology_of(graph, arguments.graph.stem)
        else:
            text = text_of(graph, arguments.access, arguments.iterations, arguments.graph.stem)
    except Exception as error:  # of the file's reader: whatever is wrong with it
        what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        print(f"{arguments.graph}: error: {' '.join(what.split())}", file=sys.stderr)
        return 2
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"{arguments.output}: error: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
