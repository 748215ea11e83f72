"""Links of a switch with more ports than fit into eight bits: none is lost, and none is taken for another.

    TESSERA=build/release/tessera python3 tests/scripts/test_links.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from prepared import Prepared

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
