#!/usr/bin/env python3
"""Writes a NetworkX graph as a workload of vertices (docs/user-guide.md, "Graphs of vertices").

    import networkx, graph_yaml
    graph = networkx.DiGraph()
    graph.add_node("forward", start=True, flops=195e9, bytes=80e6, remote=40e6)
    graph.add_node("sync", collective="all-reduce", bytes=1e9, at="0-7")
    graph.add_edge("forward", "sync")
    graph.add_edge("sync", "forward")
    graph_yaml.write(graph, "workload.yaml", access="coherent", iterations=3)

Attributes have the names of the keys there; numbers are FLOP and bytes. As a program it reads
GraphML (.graphml) or NetworkX's node-link JSON (.json).
"""
import argparse
import json
import pathlib
import sys

# Of a vertex and of an edge, with the unit of plain numbers.
VERTEX_KEYS = {"start": "", "at": "", "flops": "FLOP", "bytes": "B", "remote": "B", "collective": "",
               "root": "", "gather": "", "from": "", "to": ""}
EDGE_KEYS = ("first",)
# The form NetworkX gives to what is not named: GraphML cannot have an attribute called from or to.
OTHER_NAMES = {"source": "from", "target": "to"}


def scalar(value, unit):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and unit:
        return f"{round(value)} {unit}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(str(one) for one in value) + "]"
    return str(value) if isinstance(value, (int, float)) else json.dumps(str(value), ensure_ascii=False)


def mapping(pairs):
    return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"


def vertex_line(name, attributes):
    pairs = [("name", json.dumps(str(name), ensure_ascii=False))]
    for key, value in attributes.items():
        key = OTHER_NAMES.get(key, key)
        if key not in VERTEX_KEYS:
            raise ValueError(f"vertex {name}: attribute {key} is none of {', '.join(VERTEX_KEYS)}")
        pairs.append((key, scalar(value, VERTEX_KEYS[key])))
    return mapping(pairs)


def edge_line(source, target, attributes):
    for key in attributes:
        if key not in EDGE_KEYS:
            raise ValueError(f"edge {source} to {target}: attribute {key} is none of "
                             f"{', '.join(EDGE_KEYS)}")
    ends = [("from", json.dumps(str(source), ensure_ascii=False)),
            ("to", json.dumps(str(target), ensure_ascii=False))]
    return mapping(ends + [(key, scalar(value, "")) for key, value in attributes.items()])


def text_of(graph, access="move", iterations=1, name="graph"):
    """The workload as YAML. Raises ValueError for an attribute that is not known."""
    lines = [f"name: {json.dumps(name)}", "kind: graph", f"access: {access}",
             f"iterations: {iterations}", "vertices:"]
    lines += ["  - " + vertex_line(*vertex) for vertex in graph.nodes(data=True)]
    lines.append("edges:" if graph.number_of_edges() else "edges: []")
    lines += ["  - " + edge_line(*edge) for edge in graph.edges(data=True)]
    return "\n".join(lines) + "\n"


def write(graph, path, **settings):
    pathlib.Path(path).write_text(text_of(graph, **settings), encoding="utf-8")


def read(path):
    import networkx
    if path.suffix == ".graphml":
        return networkx.read_graphml(path)
    with open(path, encoding="utf-8") as file:
        return networkx.node_link_graph(json.load(file), directed=True, multigraph=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=pathlib.Path, help=".graphml or .json")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--access", choices=("move", "coherent"), default="move")
    parser.add_argument("--iterations", type=int, default=1)
    arguments = parser.parse_args()
    try:
        write(read(arguments.graph), arguments.output, access=arguments.access,
              iterations=arguments.iterations, name=arguments.graph.stem)
    except Exception as error:  # of the file's reader: whatever is wrong with it
        print(f"{arguments.graph}: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
