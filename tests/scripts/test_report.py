"""Reports of real runs, and comparisons; opened in a headless Chromium where TOOLS has playwright-core.

    TESSERA=build/release/tessera TOOLS=build/tools python3 tests/scripts/test_report.py
"""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

from reporting import REPOSITORY, TESSERA, chromium, embedded, python, python_with_jsonschema, run

WAFER = """
name: small
machine: "{machine}"
workload: {{kind: transformer, name: "two <!--<script> layers", layers: 2, hidden: 64, heads: 4,
  sequence: 16, vocabulary: 64, batch: 4, data_type: fp16, optimizer: adam}}
strategy: {{pipeline: 2, tensor: 2, data: 1, micro_batch: 1, schedule: 1f1b,
  placement: {{layout: s-shape}}}}
run: {{trace: full, bins: 16}}
"""
CLUSTER = """
name: servers
machine:
  topology:
    kind: cluster
    nodes: 16
    accelerators: 4
    nics: 2
    switch: {bandwidth: 300 GB/s, latency: 250 ns}
    nic: {bandwidth: 60 GB/s, latency: 1 us}
    port: {bandwidth: 30 GB/s, latency: 1 us}
    fabric: {kind: fat-tree, leaf_nodes: 4, rail_optimized: true, spines: 2, bandwidth: 25 GB/s,
      latency: 500 ns}
  tile: {peak: {fp16: 900 TFLOP/s}, sram: 50 MB, operands: dram}
  dram: {at: each, bandwidth: 3 TB/s, latency: 400 ns, capacity: 80 GB}
  network: {model: packet, routing: cluster}
  memory: {model: channel}
  compute: {model: roofline}
workload: {kind: transformer, name: four layers, layers: 4, hidden: 64, heads: 4, sequence: 16,
  vocabulary: 64, batch: 32, data_type: fp16, optimizer: adam, gradient_type: fp16}
strategy: {pipeline: 4, tensor: 4, data: 4, micro_batch: 2, schedule: 1f1b}
run: {trace: summary, bins: 16}
"""


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tessera reports ")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.base = pathlib.Path(cls.scratch.name)
        machine = REPOSITORY / "configs" / "machines" / "palm_wafer.yaml"
        (cls.base / "small.yaml").write_text(WAFER.format(machine=machine))
        (cls.base / "cluster.yaml").write_text(CLUSTER)
        cls.reports = {}
        cls.small = cls.run_of("small.yaml", "small")
        cls.other = cls.run_of("small.yaml", "other", "--set", "strategy.micro_batch=2", "--set",
                               "machine.dram.bandwidth=32 GB/s")
        cls.cluster = cls.run_of("cluster.yaml", "cluster")

    @classmethod
    def run_of(cls, experiment, name, *words):
        folder = cls.base / name
        done = run(TESSERA, "run", cls.base / experiment, "-o", folder, "-q", *words)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return folder

    def fits(self, document, schema):
        code = ("import json, sys, jsonschema; "
                "jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))")
        path = self.base / "document.json"
        path.write_text(json.dumps(document))
        done = run(python_with_jsonschema(), "-c", code, path, REPOSITORY / "docs" / "schemas" / schema)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def report(self, folder, *words):
        """The text of the page, and its JSON; made once for each folder and words."""
        if (folder, words) not in self.reports:
            self.reports[folder, words] = self.new_report(folder, *words)
        text = self.reports[folder, words]
        path = self.page_of(folder, *words)
        self.assertEqual(path.read_text(encoding="utf-8"), text)
        return text, embedded(text, "report")

    def page_of(self, folder, *words):
        return self.base / f"{folder.name}{''.join(words)}.html"

    def new_report(self, folder, *words):
        path = self.page_of(folder, *words)
        done = run(TESSERA, "report", folder, "-o", path, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{path}\n")
        return path.read_text(encoding="utf-8")

    def browse(self, kind, page, facts):
        tools = os.environ.get("TOOLS", "")
        if not (chromium() and shutil.which("node") and os.path.isdir(
                os.path.join(tools, "node_modules", "playwright-core"))):
            self.fail(f"no Chromium, node or playwright-core in '{tools}'; scripts/test installs them")
        if not isinstance(facts, pathlib.Path):
            path = self.base / f"{kind}.facts.json"
            path.write_text(json.dumps(facts))
            facts = path
        done = run("node", REPOSITORY / "tests" / "browser" / "report.mjs", tools, kind, page, facts,
                   TESSERA_CHROMIUM=chromium())
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_report_stands_alone_and_holds_the_summary(self):
        text, report = self.report(self.small)
        self.assertNotRegex(text, r'(?:src|href)="(?:https?:)?//')
        self.assertLess(len(text), 1_000_000)
        summary = json.loads((self.small / "summary.json").read_text())
        self.assertEqual(report["runs"][0]["summary"], summary)
        self.assertEqual(set(report["runs"][0]["missing"]), {"requests", "channels"})

    def test_requests_have_what_services_held(self):
        experiment = REPOSITORY / "configs" / "experiments" / "tenants_serving.yaml"
        served = self.run_of(experiment, "served")
        _, report = self.report(served)
        summary = json.loads((served / "summary.json").read_text())
        held = report["runs"][0]["requests"]["held"]
        self.assertEqual([one["tenant"] for one in held], [one["tenant"] for one in summary["services"]])
        for one in held:
            for name in ("running", "waiting", "cache_blocks"):
                self.assertEqual(len(one[name]) + 1, len(one["edges"]), name)
            self.assertGreater(max(one["running"]), 0)
            self.assertEqual((one["running"][-1], one["waiting"][-1]), (0, 0), "all are served")
        # Of jobs that train, stages by the names of their jobs.
        memory = report["runs"][0]["memory"]
        peaks = {row[0]: row[-1] for row in memory["table"]["rows"]}
        self.assertEqual([one["stage"] for one in memory["over_time"]], ["train/0", "train/1"])
        for one in memory["over_time"]:
            self.assertEqual(max(map(sum, zip(*one["parts"].values()))), peaks[one["stage"]])
        self.browse("run", self.base / "served.html", served / "summary.json")

    def test_shares_are_of_what_was_simulated(self):
        words = ("--set", "run.iterations=2", "--set", "strategy.micro_batch=1", "--set", "workload.batch=64")
        experiment = REPOSITORY / "configs" / "experiments" / "quickstart.yaml"
        busy = {}
        for replay in ("none", "exact"):
            folder = self.run_of(experiment, f"replay {replay}", *words, "--set", f"run.replay={replay}")
            _, report = self.report(folder)
            table = report["runs"][0]["operators"]
            shares = [row[-1] for row in table["rows"]]
            busy[replay] = sum(share for share in shares if isinstance(share, (int, float)))
        self.assertAlmostEqual(busy["exact"] / busy["none"], 1, delta=0.05)

    def test_sections_agree_with_the_summary(self):
        _, report = self.report(self.small)
        found = report["runs"][0]
        total = dict(zip(found["breakdown"]["activities"], found["breakdown"]["groups"][0]["shares"]))
        for name, share in total.items():
            self.assertEqual(share, found["summary"]["breakdown"]["total"][name]["share"])
        self.assertAlmostEqual(sum(total.values()), 1, 6)
        bounds = {entry["bound"]: entry["share"] for entry in found["advice"]}
        self.assertEqual(max(bounds, key=bounds.get), found["advice"][0]["bound"])
        timeline = found["timeline"]
        self.assertEqual(timeline["in_file"], timeline["operators"])
        memory = found["memory"]
        self.assertEqual(len(memory["table"]["rows"]), 2)
        peaks = found["summary"]["peak_memory"]["stages"]
        for stage, row, series in zip(peaks, memory["table"]["rows"], memory["over_time"]):
            self.assertEqual(row[-1], stage["bytes"])
            self.assertEqual(row[-1], sum(row[2:-1]))
            held = [sum(parts) for parts in zip(*series["parts"].values())]
            self.assertEqual(max(held), stage["bytes"])
            self.assertEqual(series["end_ps"], sorted(series["end_ps"]))

    def test_operators_beyond_the_budget_are_in_bins(self):
        _, report = self.report(self.small, "--operators", "40")
        timeline = report["runs"][0]["timeline"]
        self.assertLessEqual(timeline["in_file"], 40)
        self.assertGreater(timeline["in_file"], 20)
        self.assertGreater(timeline["operators"], 40)
        self.assertEqual(timeline["binned"], len(timeline["tiles"]))
        beginning, middle, end = timeline["windows"]
        self.assertEqual((beginning[0], end[1]), (0, timeline["end"]))
        self.assertEqual({stop - begin for begin, stop in (beginning, middle, end)}, {beginning[1]})
        self.browse("run", self.page_of(self.small, "--operators", "40"), self.small / "summary.json")

    def test_each_row_of_the_timeline_is_of_its_tile(self):
        """Also where stages lie in a cycle: node 2 has the first one, node 0 the second, node 1 the third."""
        folder = self.run_of("small.yaml", "cycle", "--set", "strategy.pipeline=3", "--set", "strategy.tensor=1",
                             "--set", "workload.layers=5", "--set",
                             "strategy.placement={layout: given, tiles: [2, 0, 1]}")
        _, report = self.report(folder)
        timeline = report["runs"][0]["timeline"]
        self.assertEqual((timeline["tiles"], timeline["labels"]), ([2, 0, 1], ["stage 0", "stage 1", "stage 2"]))
        code = ("import json, pathlib, sys, numpy; from tessera_plots.run_folder import RunFolder; "
                "nodes = RunFolder(pathlib.Path(sys.argv[1])).read('operators')['node']; "
                "print(json.dumps([int((nodes == one).sum()) for one in (2, 0, 1)]))")
        counts = json.loads(python(code, folder))
        self.assertEqual(len(set(counts)), 3, counts)
        self.assertEqual(timeline["kept"], counts)

    def test_a_comparison_is_written_whoever_reads_the_tables(self):
        path = self.base / "early.html"
        run("bash", "-c", '"$@" | head -n 1', "-", TESSERA, "compare", self.small, self.other, "-o", path)
        self.assertTrue(path.read_text(encoding="utf-8").endswith("</html>\n"))

    def test_a_share_that_is_nothing_has_no_sign(self):
        code = ("from tessera_plots.html.table import text_of as t; "
                "print(t(-1e-6, 'share'), t(-0.5, 'share'), t(0.0, 'share'))")
        self.assertEqual(python(code), "0.00 % -50.00 % 0.00 %\n")

    def test_numbers_come_back_from_the_file(self):
        code = ("import numpy as n, base64, zlib; from tessera_plots.html import blobs as b; "
                "v = n.array([0, 1, 127, 128, 300, 2**40, 2**53], 'u8'); "
                "assert b.leb128(v).tolist()[:5] == [0, 1, 127, 128, 1]; o = b.Blobs(); "
                "p = o.add_numbers(v); assert p['count'] == 7; "
                "assert b.zigzag([0, -1, 1, -2]).tolist() == [0, 1, 2, 3]; "
                "s = n.array([0, 1e-9, 1e-5, 0.01, 0.5, 1.0]); c = b.codes_of(s); "
                "assert c[0] == 0 and c[1] == c[2] == 1 and c[5] == 255; "
                "back = 10 ** (5 * ((c[2:] - 1.0) / 254 - 1)); "
                "assert (abs(back / s[2:] - 1) < 0.024).all(), back")
        self.assertEqual(python(code), "")

    def test_frames_keep_sums(self):
        code = ("import numpy as n; from tessera_plots.spans import Frames; f = Frames.whole(100); "
                "f._set(n.array([0., 10, 40, 100])); s = n.zeros((3, 2)); "
                "f.add(s, n.array([0, 1, 1]), n.array([0, 5, 90]), n.array([100, 15, 100]), "
                "n.array([100., 10, 7])); "
                "assert s.tolist() == [[10, 5], [30, 5], [60, 7]], s")
        self.assertEqual(python(code), "")

    def test_resolved_configurations_are_read_as_they_are_written(self):
        code = ("import sys, yaml; from tessera_plots.resolved import flatten\n"
                "def flat(v, p=''):\n"
                " if isinstance(v, dict) and v:\n"
                "  for k, x in v.items(): yield from flat(x, f'{p}.{k}' if p else str(k))\n"
                " elif isinstance(v, list) and any(isinstance(x, dict) for x in v):\n"
                "  for i, x in enumerate(v): yield from flat(x, f'{p}[{i}]')\n"
                " else: yield p\n"
                "for path in sys.argv[1:]:\n"
                " text = open(path).read(); want = list(flat(yaml.safe_load(text)))\n"
                " assert list(flatten(text)) == want, set(want) ^ set(flatten(text))")
        self.assertEqual(python(code, self.small / "config.resolved.yaml",
                                self.cluster / "config.resolved.yaml"), "")

    def test_advice_keeps_the_digits_that_it_is_about(self):
        code = ("from tessera_plots.html.advice import _percent as p\n"
                "print(*map(p, (0, 0.00038, 0.0042, 0.5, 0.98, 0.99971, 1, 1.2)), sep=',')")
        self.assertEqual(python(code).strip(), "0.0 %,0.04 %,0.4 %,50.0 %,98.0 %,99.97 %,100.0 %,120.0 %")

    def test_clusters_are_not_told_of_layouts_of_grids(self):
        told = json.dumps(self.report(self.cluster)[1]["runs"][0]["advice"])
        self.assertIn("groups inside a server", told)
        for layout in ("s-shape", "optimized"):
            self.assertNotIn(layout, told)

    def test_clusters_are_drawn_by_server_rail_leaf_and_spine(self):
        _, report = self.report(self.cluster)
        drawn = report["runs"][0]["links"]["map"]
        self.assertEqual(drawn["form"], "boxes")
        self.assertEqual([text for _, text in drawn["labels"]][:5],
                         ["spines", "leaves, by rail", "accelerators", "switch", "NICs"])
        kinds = {row[0]: row for row in report["runs"][0]["links"]["by_class"]["rows"]}
        self.assertEqual({name: row[6] for name, row in kinds.items()},
                         {"switch": 300e9, "nic": 60e9, "port": 30e9, "fabric": 25e9})
        code = ("import numpy as n; from tessera_plots.cluster import Cluster, Layout; "
                "k = 'machine.topology.'; c = Cluster({k + 'nodes': '16', k + 'accelerators': '4', "
                "k + 'nics': '2', k + 'fabric.leaf_nodes': '4', k + 'fabric.rail_optimized': 'true', "
                "k + 'fabric.spines': '2'}); assert c.first.tolist() == [0, 64, 80, 112, 120, 122]; "
                "assert c.name_of(5) == 'server 1 accelerator 1', c.name_of(5); "
                "assert c.name_of(64) == 'server 0 switch' and c.name_of(121) == 'spine 1'; "
                "b = Layout(c).boxes; x, y, w, h = b.T; grid = n.zeros((400, 400)); \n"
                "for i in range(len(b)):\n"
                " grid[round(y[i] * 10):round((y[i] + h[i]) * 10), "
                "round(x[i] * 10):round((x[i] + w[i]) * 10)] += 1\n"
                "assert grid.max() == 1 and round(grid.sum()) == round(100 * (w * h).sum())")
        self.assertEqual(python(code), "")

    def test_rows_of_a_cluster_have_labels_apart_and_of_what_is_there(self):
        """512 servers in lines of 128, leaves of 256: a leaf stands in every other line."""
        code = ("from tessera_plots.cluster import Cluster, Layout; k = 'machine.topology.'; "
                "c = Cluster({k + 'nodes': '512', k + 'accelerators': '8', k + 'nics': '8', "
                "k + 'fabric.leaf_nodes': '256', k + 'fabric.spines': '4'}); l = Layout(c); "
                "f = l.labels(); t = [text for _, text in f]; "
                "assert (l.across, len(l.lines)) == (128, 4), (l.across, l.lines); "
                "assert t.count('leaf') == 2 and t.count('switch') == 4, t; y = [at for at, _ in f]; "
                "assert y[0] > 1 and y[1] - y[0] >= 3 and y[:2] == sorted(y[:2]), f")
        self.assertEqual(python(code), "")

    def test_a_run_that_did_not_end_is_shown(self):
        folder = self.base / "killed"
        shutil.copytree(self.small, folder)
        (folder / "manifest.json").unlink()
        done = run(TESSERA, "report", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("has no manifest", done.stderr)
        self.assertTrue((folder / "report.html").exists())

    def test_one_of_two_ranks_writes_it(self):
        words = ["mpirun", "--oversubscribe", "-n", "2"]
        alone = self.report(self.small)[0]
        done = run(*words, TESSERA, "report", self.small, "-o", self.base / "ranks.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, f"{self.base / 'ranks.html'}\n")
        self.assertEqual((self.base / "ranks.html").read_text(encoding="utf-8"), alone)
        done = run(*words, TESSERA, "report", self.small, TESSERA_PYTHON="/bin/false")
        self.assertEqual((done.returncode, done.stderr.count("/bin/false")), (2, 1), done.stderr)

    def test_bad_requests_end_with_2(self):
        for words, text in ((["report", self.base / "nowhere"], "no such folder"),
                            (["report", self.base], "is not a run folder"),
                            (["report"], "no run folder given"),
                            (["compare", self.small], "two run folders"),
                            (["compare", self.small, self.base / "nowhere"], "no such folder"),
                            (["report", self.small, "--operators", "many"], "--operators")):
            done = run(TESSERA, *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stdout, "")
        self.run_is_not_taken_for_a_report()
        done = run(TESSERA, "report", self.small, TESSERA_PYTHON="/bin/false")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "error: TESSERA_PYTHON: '/bin/false' is no Python with h5py "
                         "and numpy\n")

    def test_a_program_that_stands_alone_is_told_where_its_tools_are(self):
        alone = self.base / "alone" / "tessera"
        alone.parent.mkdir()
        shutil.copy2(TESSERA, alone)
        done = run(alone, "report", self.small)
        self.assertEqual(done.returncode, 2)
        self.assertIn("have TESSERA_SCRIPTS name the folder", done.stderr)
        done = run(alone, "report", self.small, TESSERA_SCRIPTS=str(self.base))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "error: TESSERA_SCRIPTS: there is no folder "
                         f"{self.base}/tessera_plots/html\n")
        done = run(alone, "report", self.small, "-o", self.base / "alone.html",
                   TESSERA_SCRIPTS=str(REPOSITORY / "scripts"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_is_not_taken_for_a_report(self):
        """Files of others stay, and so do folders and devices; what can be said at once is."""
        file = self.small / "summary.json"
        before = file.read_bytes()
        (self.base / "other.html").write_text("<!doctype html>\n<title>of mine</title>\n")
        for words in (["report", self.small], ["compare", self.small, self.other]):
            for output in (file, self.base / "other.html", self.base, "/dev/null"):
                done = run(TESSERA, *words, "-o", output)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr, f"{output}: error: is there, and tessera {words[0]} did not write "
                                 "it; name another file with -o, or remove it\n")
            done = run(TESSERA, *words, "-o", self.base / "nowhere" / "page.html")
            self.assertEqual((done.returncode, done.stdout), (74, ""), done.stderr)
            self.assertIn("No such file or directory", done.stderr)
        done = run(TESSERA, "compare", self.small, self.other, "--pictures", file)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("summary.json: error: --pictures: is not a folder", done.stderr)
        self.assertEqual(file.read_bytes(), before)
        page = self.base / "again.html"
        for _ in range(2):  # its own may be replaced
            self.assertEqual(run(TESSERA, "report", self.small, "-q", "-o", page).returncode, 0)

    def test_damage_ends_with_74_and_leaves_no_file(self):
        folder = self.base / "damaged"
        shutil.copytree(self.small, folder)
        with open(folder / "trace.00000.h5", "r+b") as file:
            file.seek(9000)
            file.write(b"x" * 64)
        done = run(TESSERA, "report", folder)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn("damaged", done.stderr)
        self.assertEqual([path.name for path in folder.iterdir() if "html" in path.name], [])

    def test_comparison_says_what_differs(self):
        done = run(TESSERA, "compare", self.small, self.other, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        keys = {row["key"]: (row["small"], row["other"]) for row in found["differences"]}
        self.assertEqual(keys, {"strategy.micro_batch": ("1", "2"),
                                "machine.dram.bandwidth": ("64 GB/s", "32 GB/s")})
        for place, folder in enumerate((self.small, self.other)):
            summary = json.loads((folder / "summary.json").read_text())
            self.assertEqual(found["runs"][place]["iteration_time_ps"], summary["iteration_time_ps"])
        for row in found["hottest"]:
            self.assertAlmostEqual(row["other − small"], row["other"] - row["small"], 12)
        table = run(TESSERA, "compare", self.small, self.other)
        self.assertIn("machine.dram.bandwidth", table.stdout)
        self.fits(found, "comparison.schema.json")
        same = json.loads(run(TESSERA, "compare", self.small, self.small, "--json").stdout)
        self.fits(same, "comparison.schema.json")
        self.assertEqual(same["differences"], [])
        self.assertEqual({row["small (2) − small (1)"] for row in same["hottest"]}, {0.0})

    def test_comparison_knows_what_was_not_recorded(self):
        still = self.run_of("small.yaml", "still", "--set", "machine.network.model=analytical")
        found = json.loads(run(TESSERA, "compare", self.small, still, "--json").stdout)
        self.fits(found, "comparison.schema.json")
        self.assertTrue(found["hottest"])
        for row in found["hottest"]:
            self.assertIsNotNone(row["small"])
            self.assertIsNone(row["still"])
            self.assertIsNone(row["still − small"])
        self.assertNotIn("hottest_channels", found)
        text = run(TESSERA, "compare", self.small, self.small).stdout
        self.assertIn("What differs in the configurations\n  nothing: all ", text)

    def test_machines_of_other_shapes_have_no_differences(self):
        folder, page = self.base / "two shapes", self.base / "two_shapes.html"
        done = run(TESSERA, "compare", self.small, self.cluster, "--json", "-o", page, "--pictures", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.fits(found, "comparison.schema.json")
        self.assertEqual({row["cluster − small"] for row in found["hottest"]}, {None})
        self.assertEqual({(row["small"] is None) + (row["cluster"] is None) for row in found["hottest"]}, {1})
        self.assertIn("compared_links.png", [path.name for path in folder.iterdir()])
        self.browse("compare", page, {"runs": 2, "maps": 2, "shows": ["small"]})

    def test_compared_pictures_leave_out_runs_without_links(self):
        still = self.run_of("small.yaml", "still_for_pictures", "--set", "machine.network.model=analytical")
        folder = self.base / "some have links"
        done = run(TESSERA, "compare", self.small, self.other, still, "-q", "--pictures", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["compared_links.png", "compared_shares.png"])

    def test_comparison_has_the_hottest_channels(self):
        streams = ["--set", "machine.tile.sram=64 kB", "--set", "machine.tile.operands=sram"]
        whole = self.run_of("cluster.yaml", "whole", *streams)
        half = self.run_of("cluster.yaml", "half", *streams, "--set", "machine.dram.bandwidth=1.5 TB/s")
        found = json.loads(run(TESSERA, "compare", whole, half, "--json").stdout)
        self.fits(found, "comparison.schema.json")
        self.assertEqual(len(found["hottest_channels"]), 50)
        for row in found["hottest_channels"]:
            self.assertAlmostEqual(row["half"], 2 * row["whole"], 3)
            self.assertAlmostEqual(row["half − whole"], row["half"] - row["whole"], 12)
        self.assertIn("Hottest DRAM channels", run(TESSERA, "compare", whole, half).stdout)

    def test_comparison_has_services_energy_and_notes(self):
        folders = [self.base / name for name in ("slow", "fast")]
        for folder, rate in zip(folders, ("400 GB/s", "800 GB/s")):
            done = run(TESSERA, "run", REPOSITORY / "tests" / "parallel" / "serving_tiles.yaml", "-q", "-o", folder,
                       "--set", "machine.power.idle=10", "--set", f"machine.dram.bandwidth={rate}")
            self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(run(TESSERA, "compare", *folders, "--json").stdout)
        self.fits(found, "comparison.schema.json")
        for folder, compared in zip(folders, found["runs"]):
            summary = json.loads((folder / "summary.json").read_text())
            self.assertGreater(compared["power_w_per_tile"], 0)
            self.assertEqual(compared["power_w_per_tile"], summary["power_w_per_tile"])
            self.assertEqual([one["latency_ps"] for one in compared["services"]],
                             [one["latency_ps"] for one in summary["services"]])
        text = run(TESSERA, "compare", *folders, "--all").stdout
        self.assertIn("power of a tile [W]", text)
        self.assertIn("whole request, p99", text)
        self.assertNotIn("notes", found)  # that are alike
        still = self.run_of("small.yaml", "still_for_notes", "--set", "machine.network.model=analytical")
        found = json.loads(run(TESSERA, "compare", self.small, still, "--json").stdout)
        self.assertTrue(found["notes"])
        self.assertEqual({(row["small"], row["still_for_notes"]) for row in found["notes"]} - {("-", "yes"),
                                                                                          ("yes", "-")}, set())

    def test_compared_pictures_have_one_scale(self):
        folder = self.base / "pictures"
        done = run(TESSERA, "compare", self.small, self.other, "--pictures", folder, "--all")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["compared_links.png", "compared_shares.png"])

    def test_run_in_the_browser(self):
        self.report(self.small)
        self.browse("run", self.base / "small.html", self.small / "summary.json")

    def test_cluster_in_the_browser(self):
        self.report(self.cluster)
        self.browse("run", self.base / "cluster.html", self.cluster / "summary.json")

    def test_comparison_in_the_browser(self):
        page = self.base / "compared.html"
        done = run(TESSERA, "compare", self.small, self.other, "-o", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.browse("compare", page, {"runs": 2, "shows": ["machine.dram.bandwidth", "32 GB/s",
                                                           "other less small", "other − small"]})

    def test_sweep_in_the_browser(self):
        (self.base / "sweep.yaml").write_text(
            "experiment: small.yaml\naxes:\n  strategy.pipeline: [1, 2]\n"
            "  strategy.recompute: [none, full]\n  strategy.tensor: [1, 2]\n")
        folder = self.base / "sweep"
        done = run(TESSERA, "sweep", self.base / "sweep.yaml", "-o", folder, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, report = self.report(folder)
        sweep = report["sweep"]
        best = sweep["numbers"][sweep["best"]]
        self.assertIn([6, "reductions in collectives take no time"], sweep["notes"], "of those with tensor groups or replicas")
        self.browse("sweep", self.base / "sweep.html", {
            "points": len(sweep["numbers"]), "best": f"point {best}:", "other": "iteration_time_ps"})


if __name__ == "__main__":
    unittest.main()
