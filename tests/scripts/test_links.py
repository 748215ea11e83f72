"""Links in pictures and reports: how they are named, drawn and coloured. Of a switch with more ports than fit into
eight bits none is lost, and none is taken for another.

    TESSERA=build/release/tessera python3 tests/scripts/test_links.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from prepared import Prepared
from reporting import embedded

TESSERA = pathlib.Path(os.environ["TESSERA"]).resolve()
PREPARED = Prepared()
SERVERS = 300
EXPERIMENT = f"""
name: wide switch
machine:
  topology:
    kind: cluster
    nodes: {SERVERS}
    accelerators: 1
    nics: 1
    switch: {{bandwidth: 300 GB/s, latency: 250 ns}}
    nic: {{bandwidth: 60 GB/s, latency: 1 us}}
    port: {{bandwidth: 30 GB/s, latency: 1 us}}
    fabric: {{kind: switch}}
  tile: {{peak: {{fp16: 900 TFLOP/s}}, sram: 50 MB, operands: dram}}
  dram: {{at: each, bandwidth: 3 TB/s, latency: 400 ns, capacity: 80 GB}}
  network: {{model: packet, routing: cluster}}
workload: {{kind: transformer, layers: 1, hidden: 64, heads: 4, sequence: 16, vocabulary: 64,
  batch: {SERVERS}, data_type: fp16, optimizer: adam}}
strategy: {{data: {SERVERS}, micro_batch: 1, collectives: {{data: halving-doubling}}}}
run: {{trace: summary, bins: 4}}
"""
READ = """
import json, sys
import numpy as np
from tessera_plots import link_map, resolved
from tessera_plots.link_use import Links
from tessera_plots.run_folder import RunFolder
run = RunFolder(sys.argv[1])
totals = run.read("links")
links = Links(run, resolved.flatten(resolved.read_text(run.folder)))
where = link_map.where_of(run, totals, 10)
found = {"rows": totals.size, "ports": int(totals["port"].max()) + 1, "links": links.keys.size,
         "apart": np.unique(links.keys).size, "drawn": len(where.pairs()),
         "ends": len(set(where.pairs())), "most": float(links.shares.max()),
         "bytes": int(links.over_time["bytes"].sum() - totals["bytes"].sum())}
print(json.dumps(found))
"""
EARLIER = """
import numpy as np
from tessera_plots.link_keys import LinkKeys
rows = np.zeros(600, [("node", "u4"), ("to", "u4"), ("port", "u1")])
rows["to"] = np.arange(600)
rows["port"] = np.arange(600) % 256
assert np.unique(LinkKeys(rows).of(rows)).size == 600
"""

TWO_SERVERS = """
name: two servers
machine:
  topology:
    kind: cluster
    nodes: 2
    accelerators: 8
    nics: 4
    switch: {bandwidth: 300 GB/s, latency: 250 ns}
    nic: {bandwidth: 60 GB/s, latency: 1 us}
    port: {bandwidth: 30 GB/s, latency: 1 us}
    fabric: {kind: switch}
  tile: {peak: {fp16: 900 TFLOP/s}, sram: 50 MB, operands: dram}
  dram: {at: each, bandwidth: 3 TB/s, latency: 400 ns, capacity: 80 GB}
  network: {model: packet, routing: cluster}
workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, vocabulary: 64, batch: 4,
  data_type: fp16, optimizer: adam}
strategy: {tensor: 4, data: 4, micro_batch: 1}
run: {trace: full, bins: 4}
"""
MESH = """
name: {name}
machine:
  topology: {{kind: {kind}, {size}, {links}}}
  tile: {{peak: {{fp16: 16 TFLOP/s}}, sram: 4 MB, operands: dram}}
  dram: {{at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 80 GB}}
  network: {{model: packet, routing: xy}}
workload: {{kind: transformer, layers: {stages}, hidden: 64, heads: 4, sequence: 16, vocabulary: 64, batch: 4,
  data_type: fp16, optimizer: adam}}
strategy: {{pipeline: {stages}, data: 2, micro_batch: 1{strategy}}}
run: {{trace: full, bins: 4}}
"""
FAST = "bandwidth: 64 GB/s, latency: 10 ns"
WAFER = ("wafer", "tiles: [2, 10], cores: [2, 2]", f"intra_tile: {{{FAST}}}, inter_tile: {{{FAST}}}")
FLAT = ("mesh", "rows: 4, columns: 20", FAST)
# What a picture has written on it.
WRITTEN = """
import sys
from matplotlib.text import Text
from tessera_plots import compared, figure, link_map, placement
from tessera_plots.run_folder import RunFolder
def save(drawn, directory, name):
    drawn.savefig(f"{directory}/{name}.png")
    texts = [text.get_text() for text in drawn.findobj(Text) if text.get_visible()]
    print("\\n".join([*(" ".join(text.split()) for text in texts if text), "."]))
    return name
figure.save = save
directory, *folders = sys.argv[1:]
runs = [RunFolder(folder) for folder in folders]
if len(runs) > 1:
    list(compared.draw(runs, [run.summary["experiment"] for run in runs], directory))
else:
    link_map.draw(runs[0], directory)
    placement.draw(runs[0], directory)
"""
SCALES = """
import numpy as np
from tessera_plots.scales import norm_of
norm, said = norm_of("logarithmic", [1e-4] * 5 + [1] * 500 + [6] * 495)
assert (norm.vmin, norm.vmax) == (1, 6), norm
assert said == "logarithmic scale; those below 1 %, 0.5 % of all, are drawn as that", said
norm, said = norm_of("logarithmic", [0.01] * 50 + [6] * 50)
assert (norm.vmin, said) == (0.01, "logarithmic scale"), norm
norm, said = norm_of("logarithmic", [9.1, 9.4])
assert (norm.vmin, norm.vmax) == (4.7, 9.4), norm
norm, said = norm_of("logarithmic", [3.2401, 3.2402, 0])
assert (norm.vmin, said) == (0, "linear scale"), said
norm, said = norm_of("logarithmic", [1e-9] * 50 + [1] * 50)
assert np.isclose(norm.vmin, 1e-5) and "below 1e-05 %, 50 % of all" in said, said
"""
TICKS = """
from tessera_plots.boxes import _round
assert _round(0).tolist() == [0]
assert _round(1).tolist() == [0, 1]
assert _round(255).tolist() == [0, 50, 100, 150, 200, 250]
assert _round(63).tolist() == [0, 10, 20, 30, 40, 50, 60]
"""
NAMES = """
from tessera_plots import node_names
class Run:
    named_as = None
    def __init__(self, nodes): self.nodes = nodes
    def rows(self, table): return self.nodes
def name(kind, nodes, node, **keys):
    values = {"machine.topology." + key.replace("__", "."): value for key, value in keys.items()}
    return node_names.names_of(Run(nodes), {**values, "machine.topology.kind": kind})(node)
assert name("wafer", 320, 259, tiles="[5, 4]", cores="[4, 4]") == "core (0,3) of tile (4,0)"
assert name("torus", 12, 5, rows="3", columns="4") == "tile (1,1)"
graph = {"nodes[0].name": "gpu", "nodes[0].count": "8", "nodes[1].name": "nvswitch"}
assert [name("graph", 9, node, **graph) for node in (0, 7, 8)] == ["gpu[0]", "gpu[7]", "nvswitch"]
assert name("graph", 18, 3, **graph) == "node 3"
assert name("hypercube", 8, 3) == "node 3"
"""


def written(*folders):
    """The texts of pictures of one run, or of several beside each other."""
    with tempfile.TemporaryDirectory() as directory:
        done = PREPARED.python(WRITTEN, directory, *folders)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Maps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tessera maps ")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.base = pathlib.Path(cls.scratch.name)
        cls.two = cls.run_of("two", TWO_SERVERS)
        cls.wafer, cls.mesh = (cls.run_of(name, MESH.format(
            name=name, kind=kind, size=size, links=links, stages=stages, strategy=strategy))
            for name, (kind, size, links), stages, strategy in (
                ("cores", WAFER, 2, ", tensor: 2, aggregation: stage"), ("tiles", FLAT, 4, "")))

    @classmethod
    def run_of(cls, name, text):
        (cls.base / f"{name}.yaml").write_text(text, encoding="utf-8")
        done = subprocess.run([TESSERA, "run", cls.base / f"{name}.yaml", "-o", cls.base / name, "-q"],
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return cls.base / name

    def map_of(self, folder):
        """Of the report in HTML."""
        page = self.base / f"{folder.name}.html"
        done = PREPARED.python("import sys; from tessera_plots.html.__main__ import main; sys.exit(main(sys.argv[1:]))",
                               folder, "-o", page, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        return embedded(page.read_text(encoding="utf-8"), "report")["runs"][0]["links"]

    def test_small_clusters_are_drawn_by_server(self):
        texts = written(self.two)
        for text in ("accelerator 7", "switch", "NIC 3", "leaf 0", "server", "NICs",
                     "accelerator 1: stage 0, replica 0, shard 1"):
            self.assertIn(text, texts)
        self.assertNotIn("row of the machine", texts)
        links = self.map_of(self.two)
        self.assertEqual(links["map"]["form"], "boxes")

    def test_one_stage_has_no_bar_of_colours(self):
        texts = written(self.two)
        self.assertIn("stage 0, the only one", texts)
        self.assertNotIn("pipeline stage (pale: not used)", texts)
        self.assertIn("pipeline stage (pale: not used)", written(self.mesh))

    def test_links_have_the_names_of_their_nodes(self):
        self.assertRegex("\n".join(written(self.wafer)), r"busiest .* \(core \(\d,\d\) of tile \(\d,\d\) to core \(")
        for row in self.map_of(self.wafer)["hottest"]["rows"]:
            self.assertRegex(row[0], r"^core \(\d,\d\) of tile \(\d,\d\) → core \(\d,\d\) of tile \(\d,\d\)$")
        done = PREPARED.report(self.mesh, "--only", "links", "--csv")
        self.assertRegex(done.stdout, r"tile \(\d,\d\) to tile \(\d,\d\)")
        done = PREPARED.python(NAMES)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_aggregation_leaves_out_is_said(self):
        self.assertIn("aggregation: stage", self.map_of(self.wafer)["map"]["what"])
        self.assertNotIn("aggregation", self.map_of(self.mesh)["map"]["what"])
        self.assertTrue(any(text.startswith("cores: aggregation: stage") for text in written(self.mesh, self.wafer)))

    def test_compared_machines_of_one_shape_show_one_part_and_which(self):
        texts = written(self.mesh, self.wafer)
        parts = [text.partition(" (")[2] for text in texts if "the others have no traffic" in text]
        self.assertEqual(len(parts), 3, texts)
        self.assertEqual(len(set(parts)), 1, parts)
        self.assertRegex(parts[0], r"^columns 0 to \d+ of 0 to 19; the others have no traffic\)$")
        self.assertEqual(texts.count("column of the machine"), 3)

    def test_compared_links_of_one_shape_have_the_same_names(self):
        done = PREPARED.python("import sys; from tessera_plots.html.comparing import main; sys.exit(main(sys.argv[1:]))",
                               self.mesh, self.wafer, "--json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any(None not in row.values() for row in json.loads(done.stdout)["hottest"]))

    def test_scales_ticks_and_requests(self):
        for code in (SCALES, TICKS):
            done = PREPARED.python(code)
            self.assertEqual(done.returncode, 0, done.stderr)
        done = PREPARED.plot(self.mesh, "--only", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: there is no picture 'nonsense', but timeline, placement,", done.stderr)
        done = PREPARED.report(self.mesh, "--only", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: there is no table 'nonsense', but tenants,", done.stderr)


class WideSwitches(unittest.TestCase):
    def test_every_link_is_one_and_is_busy_at_most_all_the_time(self):
        with tempfile.TemporaryDirectory(prefix="tessera links ") as scratch:
            experiment = pathlib.Path(scratch) / "wide.yaml"
            experiment.write_text(EXPERIMENT, encoding="utf-8")
            folder = pathlib.Path(scratch) / "run"
            done = subprocess.run([TESSERA, "run", experiment, "-o", folder, "-q"], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = PREPARED.python(READ, folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
        self.assertGreaterEqual(found["ports"], SERVERS)
        for what in ("links", "apart", "drawn", "ends"):
            self.assertEqual(found[what], found["rows"], what)
        self.assertLessEqual(found["most"], 1)
        self.assertEqual(found["bytes"], 0)

    def test_ports_of_eight_bits_are_told_apart_by_where_links_end(self):
        done = PREPARED.python(EARLIER)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
