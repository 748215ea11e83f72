"""Pictures of real runs: TESSERA names the program; needs bash, and mpirun for runs of two ranks.

    TESSERA=build/release/tessera python3 tests/scripts/test_plots.py
"""

import ast
import csv
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

from prepared import Prepared

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PLOT = REPOSITORY / "scripts" / "plot"
REPORT = REPOSITORY / "scripts" / "report"
PREPARED = Prepared()
PICTURES = ["timeline", "placement", "link_map", "link_map_over_time", "communication_bars", "bandwidth",
            "hottest"]
EXPERIMENT = """
name: small
machine: "{machine}"
workload: {{kind: transformer, name: two layers, layers: 2, hidden: 64, heads: 4, sequence: 16,
  vocabulary: 64, batch: 4, data_type: fp16, optimizer: adam}}
strategy: {{pipeline: 2, tensor: 2, data: 1, micro_batch: 1, schedule: 1f1b,
  placement: {{layout: s-shape}}}}
run: {{trace: full, bins: 16}}
"""


def run(*words):
    """Result of a command that is to end by itself."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300, check=False, env=environment)


def read_png(path):
    """Width, height and how many different values its filtered bytes have."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    pixels, place = b"", 8
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        if kind == b"IDAT":
            pixels += data[place + 8:place + 8 + length]
        place += length + 12
    pixels = zlib.decompress(pixels)
    return width, height, sum(value in pixels for value in range(256))


def lab_of(colour):
    """L*a*b* of '#rrggbb' under D65."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                        for part in (int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)))
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505, 0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class Scaling(unittest.TestCase):
    def test_speed_up_is_drawn(self):
        with tempfile.TemporaryDirectory(prefix="tessera scaling ") as scratch:
            folder = pathlib.Path(scratch)
            experiment = folder / "small.yaml"
            machine = REPOSITORY / "configs" / "machines" / "palm_wafer.yaml"
            experiment.write_text(EXPERIMENT.format(machine=machine))
            for name, partitions in (("small", "blocks"), ("compared", "blocks,stripes")):
                done = run(os.environ["TESSERA"], "scale", experiment, "--ranks", "2,4",
                           "--partition", partitions, "-o", folder / f"{name}.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                done = PREPARED.plot("--scale", folder / f"{name}.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                picture = folder / f"{name}_speed_up.png"
                self.assertEqual(done.stdout.strip(), str(picture))
                width, height, values = read_png(picture)
                self.assertGreater(min(width, height, values), 100)
            (folder / "other.json").write_text("{}")
            done = PREPARED.plot("--scale", folder / "other.json")
            self.assertEqual(done.returncode, 2)
            self.assertIn("tessera scale", done.stderr)


class Traffic(unittest.TestCase):
    def test_latency_over_load_is_drawn(self):
        with tempfile.TemporaryDirectory(prefix="tessera traffic ") as scratch:
            folder = pathlib.Path(scratch)
            for routing in ("xy", "odd-even"):
                done = run(os.environ["TESSERA"], "traffic", REPOSITORY / "configs/traffic/mesh.yaml", "--set",
                           "traffic.rates=[0.05, 0.1]", "--set", "traffic.sample=100", "--set",
                           f"machine.network.routing={routing}", "-o", folder / f"{routing}.json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("steady", done.stdout)
            done = PREPARED.plot("--traffic", folder / "xy.json", "--traffic", folder / "odd-even.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            picture = folder / "xy_load.png"
            self.assertEqual(done.stdout.strip(), str(picture))
            width, height, values = read_png(picture)
            self.assertGreater(min(width, height, values), 100)
            (folder / "other.json").write_text("{}")
            done = PREPARED.plot("--traffic", folder / "other.json")
            self.assertEqual(done.returncode, 2)
            self.assertIn("tessera traffic", done.stderr)


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tessera sweeps ")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.base = pathlib.Path(cls.scratch.name)
        machine = REPOSITORY / "configs" / "machines" / "palm_wafer.yaml"
        (cls.base / "small.yaml").write_text(EXPERIMENT.format(machine=machine))
        (cls.base / "sweep.yaml").write_text(
            "experiment: small.yaml\naxes:\n  strategy.pipeline: [1, 2, 3]\n"
            "  strategy.recompute: [none, full]\n  strategy.tensor: [1, 2, 3]\n")
        cls.folder = cls.base / "out"
        done = run(os.environ["TESSERA"], "sweep", cls.base / "sweep.yaml", "-o", cls.folder, "-q")
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def test_front_and_heat_map_are_drawn(self):
        done = run(PLOT, self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        paths = [self.folder / "plots" / name for name in ("pareto.png", "heat_map.png")]
        self.assertEqual(done.stdout.splitlines(), [str(path) for path in paths])
        for path in paths:
            width, height, values = read_png(path)
            self.assertGreater(min(width, height), 300)
            self.assertGreater(values, 50)

    def test_columns_and_keys_can_be_chosen(self):
        done = PREPARED.plot(self.folder, "-o", self.base / "chosen", "--columns",
                   "iteration_time_ps,memory_per_tile_bytes", "--axes",
                   "strategy.tensor,strategy.recompute", "--value", "memory_per_tile_bytes")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(list((self.base / "chosen").iterdir())), 2)

    def test_front_holds_what_nothing_beats(self):
        code = ("import numpy as np; from tessera_plots.sweep import _front as f; "
                "x, y = np.array([1., 2, 3, 2, 4]), np.array([1., 3, 2, 1, 3]); "
                "assert f(x, y, False, True) == [0, 1], f(x, y, False, True); "
                "assert f(x, y, False, False) == [0]; assert f(x, y, True, True) == [4]")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_refuses_what_is_not_there(self):
        for words, text in ((["--only", "timeline"], "no such picture"),
                            (["--columns", "a,b"], "no column 'a'"),
                            (["--columns", "a"], "two names"), (["--axes", "x,y"], "no key 'x'")):
            done = PREPARED.plot(self.folder, *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)


class Graphs(unittest.TestCase):
    """Pictures of runs of graphs."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tessera graphs ")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.base = pathlib.Path(cls.scratch.name)

    def run_of(self, name, *words):
        folder = self.base / f"{name} {len(os.listdir(self.base))}"
        experiment = REPOSITORY / "tests" / "parallel" / f"{name}.yaml"
        done = run(os.environ["TESSERA"], "run", experiment, "--trace", "full", "-o", folder, "-q",
                   *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def shares(self, folder):
        """[(kind, dimension, busy, exposed)] as the picture has them."""
        code = ("import sys; from tessera_plots.run_folder import RunFolder; "
                "from tessera_plots import hiding as e; "
                "print(e.by_kind_and_dimension(RunFolder(sys.argv[1])))")
        done = PREPARED.python(code, folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return ast.literal_eval(done.stdout)

    def test_collectives_alone_are_exposed(self):
        folder = self.run_of("graph_stack")
        shares = self.shares(folder)
        self.assertEqual({dimension for _, dimension, _, _ in shares}, {0, 1, 2})
        for _, _, busy, exposed in shares:
            self.assertGreater(busy, 0)
            self.assertEqual(busy, exposed)
        done = PREPARED.plot(folder)
        self.assertEqual((done.returncode, done.stderr.count("error")), (0, 0), done.stderr)
        for name in ("timeline", "link_map", "exposed_communication", "stragglers"):
            self.assertIn(f"{name}.png", done.stdout)
        self.assertEqual(PREPARED.plot(folder, "--only", "placement").returncode, 2)

    def test_lanes_are_drawn_beside_each_other(self):
        first, second = self.run_of("graph_tensors"), self.run_of("graph_vertices")
        done = PREPARED.plot(first, "--only", "lanes", "--beside", second, "--npu", "2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        both = read_png(first / "plots" / "lanes.png")
        done = PREPARED.plot(first, "--only", "lanes", "-o", first / "alone")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        alone = read_png(first / "alone" / "lanes.png")
        self.assertGreater(both[1], 1.5 * alone[1])
        self.assertGreater(min(both[2], alone[2]), 50)
        done = PREPARED.plot(first, "--only", "lanes", "--npu", "99")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing of node 99; its nodes are 0 to", done.stderr)

    def test_rows_of_a_lane_do_not_overlap(self):
        code = ("from tessera_plots.lanes import rows_of as r; "
                "assert r([(0, 2), (1, 3), (2, 4), (3, 5), (3, 4)]) == [0, 1, 0, 1, 2]")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_report_adds_up(self):
        folder = self.run_of("graph_stack")
        done = run(REPORT, folder)
        self.assertEqual((done.returncode, done.stderr.count("error")), (0, 0), done.stderr)
        done = PREPARED.report(folder, "--only", "links", "--csv")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = list(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertLessEqual(float(row["mean use [%]"]), float(row["its use [%]"]))
        done = PREPARED.report(folder, "--only", "operators", "--csv")
        share = sum(float(row["of its time [%]"])
                    for row in csv.DictReader(done.stdout.splitlines()))
        self.assertAlmostEqual(share, 100, delta=1)  # collectives follow each other without a gap
        done = PREPARED.report(folder / "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such folder", done.stderr)

    def test_computing_hides_some_and_a_slow_node_is_seen(self):
        folder = self.run_of("graph_trace", "--set", "machine.faults.nodes=[{node: 2, speed: 50 %}]")
        shares = self.shares(folder)
        self.assertTrue(any(exposed < busy for _, _, busy, exposed in shares), shares)
        for name in ("exposed_communication", "stragglers"):
            done = PREPARED.plot(folder, "--only", name)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            width, height, values = read_png(folder / "plots" / f"{name}.png")
            self.assertGreater(min(width, height, values), 50)


class Tenants(unittest.TestCase):
    def test_tenants_are_drawn_and_reported(self):
        with tempfile.TemporaryDirectory(prefix="tessera tenants ") as scratch:
            folder = pathlib.Path(scratch) / "run"
            experiment = REPOSITORY / "tests" / "parallel" / "tenants.yaml"
            done = run(os.environ["TESSERA"], "run", experiment, "-o", folder, "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = PREPARED.plot(folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in PICTURES:
                width, height, values = read_png(folder / "plots" / f"{name}.png")
                self.assertGreater(min(width, height, values), 50, name)
            done = PREPARED.report(folder, "--only", "tenants", "--csv")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = list(csv.DictReader(done.stdout.splitlines()))
            self.assertEqual([row["tenant"] for row in rows], ["voice", "step", "chat"])
            for row in rows:
                took = float(row["ends [us]"]) - float(row["begins [us]"])
                self.assertAlmostEqual(took / int(row["iterations"]), float(row["iteration [us]"]), 2)

    def test_requests_beside_other_work_are_drawn(self):
        with tempfile.TemporaryDirectory(prefix="tessera served ") as scratch:
            folder = pathlib.Path(scratch) / "run"
            experiment = REPOSITORY / "configs" / "experiments" / "tenants_serving.yaml"
            done = run(os.environ["TESSERA"], "run", experiment, "-o", folder, "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            names = ("timeline", "request_times", "service_over_time", "service_load", "core_occupancy")
            done = PREPARED.plot(folder, *(word for name in names for word in ("--only", name)))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in names:
                width, height, values = read_png(folder / "plots" / f"{name}.png")
                self.assertGreater(min(width, height, values), 50, name)


class ServiceLoad(unittest.TestCase):
    def test_the_last_row_of_a_time_counts_and_peaks_stay(self):
        code = ("import numpy as np; from tessera_plots.service_load import steps; "
                "print([x.tolist() for x in steps(np.array([0, 5, 5, 8]), np.array([1, 2, 3, 0]), 10)]); "
                "t = np.arange(10000); v = np.where(t == 4321, 9, 1); e, b = steps(t, v, 10000); "
                "print(e.size, b.size, b.max(), e[np.argmax(b)])")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "[[0, 5, 8, 10], [1, 3, 0]]\n2001 2000 9 4320\n")

    def test_others_are_added_up_at_each_change(self):
        code = ("import numpy as np; from tessera_plots.service_load import together; "
                "kind = [('time', 'i8'), ('running', 'u8'), ('waiting', 'u8'), ('cache_blocks', 'u8'), ('tenant', 'u2')]; "
                "rows = np.array([(0, 0, 0, 0, 9), (0, 0, 0, 0, 8), (3, 2, 1, 5, 8), (4, 1, 0, 7, 9), (6, 0, 0, 1, 8), "
                "(9, 0, 0, 0, 9)], kind); times, held = together(rows); "
                "print(times.tolist(), held['running'].tolist(), held['cache_blocks'].tolist())")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "[0, 0, 3, 4, 6, 9] [0, 0, 2, 3, 1, 0] [0, 0, 5, 12, 8, 1]\n")


class ServiceOverTime(unittest.TestCase):
    def test_the_last_window_is_as_long_as_the_service_was_there(self):
        window = {"running": 4, "waiting": 0, "cache_blocks": 2, "replicas": 1, "arrived": 3, "served": 1, "met": 1}
        half = {**window, "replicas": 0.5}
        done = PREPARED.python(
            "from tessera_plots.service_windows import edges_of, windows_of; "
            f"service = dict(window_ps=2 * 10**12, last_window_ps=10**12, windows=[{window}, {half}]); "
            "print(edges_of(service)[1:], "
            "[(one['running'], one['replicas'], one['arrived'], one['seconds']) for one in windows_of(service)])")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "[2000000000000, 3000000000000] [(4, 1, 3, 2.0), (8.0, 1.0, 3, 1.0)]\n")

    def test_windows_without_requests_are_gaps_and_legends_lie_beside_the_data(self):
        times = {"count": 2, "p50": 3e9, "p99": 4e9}
        window = {"running": 1, "waiting": 0, "cache_blocks": 2, "arrived": 1, "served": 1, "met": 1,
                  "first_token_ps": times, "a_token_ps": times, "latency_ps": times}
        empty = {**window, "first_token_ps": None, "a_token_ps": None, "latency_ps": None}
        services = [{"tenant": "chat", "window_ps": 10**9, "windows": [window, empty, window]}]
        code = ("from types import SimpleNamespace; from tessera_plots import figure, serving; "
                f"summary = dict(services={services}); "
                "run = SimpleNamespace(folder='r', complete=True, end_ps=lambda: 1, traces=[], summary=summary); "
                "figure.save = lambda fig, directory, name: fig; fig = serving.draw_over_time(run, ''); "
                "fig.canvas.draw(); "
                "print([line.get_data().baseline for line in fig.axes[4].patches], "
                "any(ax.get_legend().get_window_extent().overlaps(ax.get_window_extent()) for ax in fig.axes))")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "[None, None] False\n")


class Plots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tessera plots ")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.base = pathlib.Path(cls.scratch.name)
        cls.tessera = pathlib.Path(os.environ["TESSERA"]).resolve()
        experiment = cls.base / "small.yaml"
        machine = REPOSITORY / "configs" / "machines" / "palm_wafer.yaml"
        experiment.write_text(EXPERIMENT.format(machine=machine))
        cls.runs = {}
        for ranks in (1, 2):
            folder = cls.base / f"on {ranks}"
            words = ["mpirun", "--oversubscribe", "-n", ranks] if ranks > 1 else []
            done = run(*words, cls.tessera, "run", experiment, "-o", folder, "-q")
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            cls.runs[ranks] = folder

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.base)) / "run"
        shutil.copytree(self.runs[1], folder, ignore=shutil.ignore_patterns("plots"))
        return folder

    def assert_fails(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for text in ("error: ", *texts):
            self.assertIn(text, done.stderr)

    def test_draws_all_pictures(self):
        folder = self.runs[1]
        done = run(PLOT, folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        paths = [folder / "plots" / f"{name}.png" for name in PICTURES]
        self.assertEqual(done.stdout.splitlines(), [str(path) for path in paths])
        for path in paths:
            width, height, values = read_png(path)
            self.assertGreater(width, 500)
            self.assertGreater(height, 300)
            self.assertGreater(values, 50, path.name)

    def test_scales_of_link_maps_are_chosen(self):
        pictures = set()
        for colours in ("logarithmic", "percentile", "linear"):
            output = self.base / colours
            done = PREPARED.plot(self.runs[1], "-o", output, "--only", "link_map", "--colours", colours)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            pictures.add((output / "link_map.png").read_bytes())
        self.assertEqual(len(pictures), 3)
        done = PREPARED.plot(self.runs[1], "--colours", "rainbow")
        self.assertEqual(done.returncode, 2)

    def test_colours_of_activities_are_distinct(self):
        """In pictures and in reports: at least 25 apart in L*a*b* (CIE 1976; 2.3 is what the eye just tells apart)."""
        done = PREPARED.python("import json; from tessera_plots.figure import COLOURS as c; print(json.dumps(c))")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        theme = (REPOSITORY / "scripts/tessera_plots/html/app/theme.js").read_text(encoding="utf-8")
        activities = re.search(r"const ACTIVITY = \{(.*?)\};", theme, re.DOTALL)[1]
        for colours in (json.loads(done.stdout), dict(re.findall(r'(\w+): "(#\w{6})"', activities))):
            self.assertGreater(len(colours), 14)
            for one, other in itertools.combinations(colours, 2):
                if {one, other} != {"compute", "backward"}:  # another is chosen for one of two beside each other
                    apart = math.dist(lab_of(colours[one]), lab_of(colours[other]))
                    self.assertGreaterEqual(apart, 25, f"{one} and {other}")

    def test_no_two_of_a_picture_have_the_same_colour(self):
        code = ("import json; from tessera_plots.figure import colours_of, series_colour; "
                "names = ['memory', 'chat/long', 'compute', 'backward', *(f'service {i}' for i in range(40))]; "
                "print(json.dumps([names, colours_of(names), [series_colour(i) for i in range(60)]]))")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names, colours, series = json.loads(done.stdout)
        self.assertEqual(list(colours), names)
        self.assertEqual(len(set(colours.values())), len(names))
        self.assertEqual(len(set(series)), 60)

    def test_ranks_do_not_change_what_is_drawn(self):
        """Of each kind of table that a picture is of: rows of operators, and bins of links."""
        only = [word for name in ("timeline", "link_map") for word in ("--only", name)]
        pictures = []
        for ranks, folder in self.runs.items():
            output = self.base / f"pictures of {ranks}"
            done = PREPARED.plot(folder, "-o", output, *only)
            self.assertEqual(done.stdout, f"{output}/timeline.png\n{output}/link_map.png\n")
            pictures.append([(output / f"{name}.png").read_bytes() for name in ("timeline", "link_map")])
        self.assertEqual(pictures[0], pictures[1])

    def test_names_every_damaged_or_missing_file(self):
        folder = self.copy()
        trace = folder / "trace.00000.h5"
        data = bytearray(trace.read_bytes())
        data[len(data) // 2] ^= 1
        trace.write_bytes(data)
        (folder / "index.h5").unlink()
        self.assert_fails(run(PLOT, folder), 74, "trace.00000.h5: damaged", "index.h5: missing")

    def test_reads_no_pipe_and_no_device(self):
        folder = self.copy()
        trace = folder / "trace.00000.h5"
        trace.unlink()
        os.mkfifo(trace)
        self.assert_fails(PREPARED.plot(folder), 74, "trace.00000.h5: it is no regular file")
        (folder / "manifest.json").unlink()
        (folder / "manifest.json").symlink_to("/dev/zero")
        self.assert_fails(PREPARED.plot(folder), 74, "manifest.json: it is no regular file")

    def test_draws_a_run_without_manifest_and_says_so(self):
        folder = self.copy()
        (folder / "manifest.json").unlink()
        done = PREPARED.plot(folder, "--only", "timeline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("has no manifest", done.stderr)

    def test_refuses_a_cut_trace_without_manifest(self):
        folder = self.copy()
        (folder / "manifest.json").unlink()
        os.truncate(folder / "trace.00000.h5", 4096)
        self.assert_fails(run(PLOT, folder), 74, "trace.00000.h5: damaged")

    def test_says_what_a_run_without_trace_lacks(self):
        folder = self.copy()
        for name in ("manifest.json", "index.h5", "trace.00000.h5"):
            (folder / name).unlink()
        done = PREPARED.plot(folder, "--only", "timeline")
        self.assertEqual(done.returncode, 2)
        self.assertIn("kept no trace", done.stderr)

    def test_refuses_what_is_no_run(self):
        self.assert_fails(run(PLOT, self.base / "nowhere"), 2, "no such folder")
        self.assert_fails(run(PLOT, self.base), 2, "is not a run folder")

    def test_sums_are_crc_32c(self):
        # RFC 3720, appendix B.4, and a length that fills no lane.
        code = ("from tessera_plots.crc32c import crc32c as c; "
                "assert c(b'123456789') == 0xe3069283; assert c(bytes(32)) == 0x8a9136aa; "
                "assert c(bytes(range(32))) == 0x46dd794e; d = bytes(range(251)) * 17; "
                "assert c(d[1000:], c(d[:1000])) == c(d)")
        done = PREPARED.python(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
