"""Graphs of NetworkX as workloads and topologies: TESSERA names the program.

    TESSERA=build/release/tessera python3 -m unittest tests/scripts/test_graph_yaml.py
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import networkx
except ImportError:  # the first Python on PATH need not be the one of the system's packages
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "graph_yaml.py"
LLAMA = REPOSITORY / "scripts" / "hcsim_llama2.py"
sys.dont_write_bytecode = True
sys.path.append(str(SCRIPT.parent))
import graph_yaml  # noqa: E402
import hcsim_llama2  # noqa: E402

REST = """
types: {{h100: {{peak: {{fp16: 16 TFLOP/s}}}}}}
dram: {{at: each, bandwidth: 1 TB/s, latency: 100 ns, capacity: {capacity}}}
network: {{model: analytical}}
"""


def run(*words):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=100, check=False, env=environment)


def machine(make=networkx.Graph):
    """Three XPUs and a memory at a switch; one way is slower where directions differ."""
    graph = make()
    for name in ("x0", "x1", "x2"):
        graph.add_node(name, type="h100")
    graph.add_node("switch", kind="switch")
    graph.add_node("pool", kind="memory", capacity=40e9)
    for name in ("x0", "x1", "x2", "pool"):
        graph.add_edge(name, "switch", bandwidth=100e9, latency=2e-7)
        if graph.is_directed():
            graph.add_edge("switch", name, bandwidth=50e9, latency=1e-6)
    return graph


def work(in_lists=True):
    """A graph with tensors; GraphML holds lists as JSON."""
    form = (lambda value: value) if in_lists else json.dumps
    graph = networkx.DiGraph(tensors=form([{"name": "w0", "bytes": 6e9, "priority": 1},
                                           {"name": "w1", "bytes": 3000000000, "at": "0-2"}]))
    graph.add_node("forward", start=True, flops=2e9,
                   uses=form(["w0", {"tensor": "w1", "bytes": 5e6, "written": 2e6}]))
    graph.add_node("sync", collective="all-reduce", bytes=1e6, gather="read")
    graph.add_node("send", source=0, target=2, bytes=10)
    graph.add_edge("forward", "sync")
    graph.add_edge("sync", "forward")
    graph.add_edge("forward", "send", first=False)
    return graph


class GraphYaml(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tessera graph yaml ")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tessera = os.environ["TESSERA"]

    def check(self, capacity="8 GB", of=None):
        """What `tessera check` prints of work.yaml on machine.yaml."""
        graph_yaml.write_topology(of or machine(), self.folder / "machine.yaml", name="small")
        with open(self.folder / "machine.yaml", "a", encoding="utf-8") as file:
            file.write(REST.format(capacity=capacity))
        (self.folder / "e.yaml").write_text("machine: machine.yaml\nworkload: work.yaml\n",
                                            encoding="utf-8")
        done = run(self.tessera, "check", self.folder / "e.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("ok\n"))
        return done.stdout

    def convert(self, path, *words):
        return run(sys.executable, SCRIPT, path, "-o", self.folder / "work.yaml", *words)

    def assert_row(self, text, *cells):
        self.assertRegex(text, r"(?m)^" + r" +".join(map(re.escape, cells)) + "$")

    def test_graphml_and_json_say_the_same(self):
        networkx.write_graphml(work(in_lists=False), self.folder / "g.graphml")
        data = networkx.node_link_data(work())
        (self.folder / "g.json").write_text(json.dumps(data), encoding="utf-8")
        texts = []
        for name in ("g.graphml", "g.json"):
            done = self.convert(self.folder / name, "--access", "coherent", "--iterations", "3")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            texts.append((self.folder / "work.yaml").read_text(encoding="utf-8"))
            text = self.check()
            # w0 goes first; w1 does not fit beside it.
            self.assert_row(text, "w0", "1", "6 GB", "3 h100", "-")
            self.assert_row(text, "w1", "1", "3 GB", "-", "3 h100")
            self.assert_row(text, "pool", "1", "40 GB", "9 GB")
            # Of 3 iterations and XPUs: load, compute and store, two for reads after the sum; and a
            # message.
            self.assert_row(text, "iterations in a graph", "3")
            self.assert_row(text, "nodes of graphs", str(3 * (3 * 5 + 2)))
        self.assertEqual(texts[0], texts[1])
        self.assertIn("access: coherent", texts[0])
        self.assert_row(self.check("9 GB"), "w0 … w1", "2", "9 GB", "3 h100", "-")

    def test_directions_of_links(self):
        graph_yaml.write(work(), self.folder / "work.yaml")
        both = self.check()
        self.assert_row(both, "directed links", "8")
        one_way = self.check(of=machine(networkx.DiGraph))
        self.assert_row(one_way, "directed links", "8")
        self.assertEqual(both.count("directions: one"), 0)
        self.assertEqual(one_way.count("directions: one"), 8)
        self.assertEqual(one_way.count("bandwidth: 50 GB/s"), 4)

    def test_topology_of_a_file(self):
        data = networkx.node_link_data(machine())
        (self.folder / "m.json").write_text(json.dumps(data), encoding="utf-8")
        done = self.convert(self.folder / "m.json", "--topology")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "work.yaml").read_text(encoding="utf-8"),
                         graph_yaml.topology_of(machine(), "m"))

    def test_says_what_is_wrong_on_one_line(self):
        def refused(text, pattern, *words, name="bad.json"):
            (self.folder / name).write_text(text, encoding="utf-8")
            done = self.convert(self.folder / name, *words)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\A.*" + re.escape(name) + r": error: " + pattern + r".*\n\Z")
            self.assertFalse((self.folder / "work.yaml").exists())

        def json_of(**more):
            return json.dumps({"nodes": [{"id": "a", "start": True, **more}]})

        refused("{", "Expecting")
        refused("[]", "has no list of nodes")
        refused("<graph", "", name="bad.graphml")
        refused("x", "must end in .graphml or .json", name="bad.txt")
        refused(json_of(colour="red"), "vertex a: attribute colour is none of start, at")
        refused(json_of(uses="[w"), "vertex a: uses: is no JSON")
        refused(json_of(uses=[{"bytes": 1}]), "vertex a: uses: a use without tensor")
        refused(json.dumps({"graph": {"tensors": [{"name": "w"}]}, "nodes": []}),
                "tensor 0: must have name and bytes")
        refused(json.dumps({"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}),
                "an edge between no nodes")
        refused(json.dumps({"nodes": [{"id": "x[0]"}]}), "node x.0.: a name must", "--topology")
        refused(json.dumps({"nodes": [{"id": "x", "kind": "gpu"}]}), "node x: kind gpu", "--topology")
        refused(json.dumps({"nodes": [{"id": "x"}, {"id": "y"}],
                            "links": [{"source": "x", "target": "y", "latency": 1}]}),
                "edge x to y: has no bandwidth", "--topology")
        done = self.convert(self.folder / "nowhere.json")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("nowhere.json: error: No such file", done.stderr)


class Llama(unittest.TestCase):
    """Sizes by hand, of LLaMA-2's 70B: 8 heads of keys and values, each of 128."""

    def test_parameters_of_presets(self):
        # arXiv:2307.09288 gives 7, 13 and 70 billion with embeddings and head of 32000 words.
        for preset, billions in (("7b", 6.74), ("13b", 13.02), ("70b", 68.98)):
            shape = hcsim_llama2.PRESETS[preset]
            weights = hcsim_llama2.llama(1, shape).weights * shape.layers / 2
            whole = weights + 2 * 32000 * shape.hidden + shape.hidden
            self.assertAlmostEqual(whole / 1e9, billions, delta=0.01)

    def test_grouped_queries_and_tensors(self):
        shape = hcsim_llama2.PRESETS["70b"]
        decoder = hcsim_llama2.llama(2, shape)
        layers = {layer.name: layer for layer in decoder.layers}
        self.assertEqual(layers["linear K"].forward.flops, 2 * 2 * 4096 * 8192 * 1024)
        self.assertEqual(layers["linear K"].forward.weights, 2 * 8192 * 1024)
        self.assertEqual(layers["linear Q"].forward.weights, 2 * 8192 * 8192)
        graph = hcsim_llama2.build("llama", 2, 1, tensors=True, shape=shape, make=networkx.DiGraph)
        sizes = {tensor["name"]: tensor["bytes"] for tensor in graph.graph["tensors"]}
        parameters = 2 * 8192 ** 2 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192
        self.assertEqual(sizes["W0"], 2 * parameters)
        self.assertEqual(sizes["G0"], 2 * parameters)
        self.assertEqual(sizes["O0"], 12 * parameters)
        # Outputs: norm, add, norm, add, Q, attention, linear, down are as wide as the stream; rotary
        # that and keys; scores twice; gate, up and SwiGLU; K and V.
        outputs = 2 * (4096 * (9 * 8192 + 3 * 1024 + 3 * 28672) + 2 * 64 * 4096 ** 2)
        self.assertEqual(sizes["A0"], 2 * outputs)
        uses = {use["tensor"]: use["bytes"] for use in graph.nodes["U0 update"]["uses"]}
        self.assertEqual(uses, {"G0": 2 * parameters, "O0": 24 * parameters, "W0": 2 * parameters})

    def test_uses_are_the_bytes_without_tensors(self):
        for table in hcsim_llama2.TABLES:
            plain = dict(hcsim_llama2.build(table, decoders=1).nodes())
            tensors = dict(hcsim_llama2.build(table, decoders=1, tensors=True).nodes())
            for name, attributes in plain.items():
                uses = sum(use["bytes"] for use in tensors[name].get("uses", []))
                if "collective" not in attributes:
                    self.assertAlmostEqual(uses, attributes.get("bytes", 0), delta=2, msg=name)

    def test_refuses_sizes_that_do_not_divide(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "w.yaml"
            for words in (["--table", "llama", "--heads", "3"], ["--heads", "8"],
                          ["--tensors", "--remote", "forward"]):
                done = run(sys.executable, LLAMA, "-o", path, *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
