"""Reports of runs that serve requests: they need no trace, and say what limits a service. Wide tables fit paper.

    TESSERA=build/release/tessera TOOLS=build/tools python3 tests/scripts/test_service_reports.py
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from prepared import path_with_libraries

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESSERA = pathlib.Path(os.environ["TESSERA"]).resolve()
APART = REPOSITORY / "configs" / "experiments" / "serving_apart.yaml"
# Words of advice that mean nothing for a service.
OF_TRAINING = ("micro_batch", "strategy.", "recompute", "Layers moved", "stages", "schedule", "(now ?)")


def run(*words):
    """Result of a command that is to end by itself."""
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=300, check=False, env={**os.environ, "PATH": path_with_libraries()})


def browser():
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


class ServiceReports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="tessera services ")
        cls.addClassCleanup(scratch.cleanup)
        cls.base = pathlib.Path(scratch.name)

    def served(self, name, *settings, experiment=APART):
        """The folder of a run, and the report's JSON of it."""
        folder = self.base / name
        words = [word for setting in settings for word in ("--set", setting)]
        done = run(TESSERA, "run", experiment, "-q", "-o", folder, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(TESSERA, "report", folder, "-o", self.base / f"{name}.html")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.base / f"{name}.html").read_text(encoding="utf-8")
        found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
        return folder, json.loads(found[1])["runs"][0]

    def browse(self, kind, page, facts):
        self.assertTrue(browser() and shutil.which("node"), "scripts/test installs Chromium and node")
        done = subprocess.run(["node", REPOSITORY / "tests" / "browser" / "report.mjs", os.environ.get("TOOLS", ""),
                               kind, page, facts], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "TESSERA_CHROMIUM": browser()})
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_a_service_without_a_trace_is_reported(self):
        folder, report = self.served("quiet")
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(summary["trace"], "none")
        self.assertNotIn("requests", report["missing"])
        requests = report["requests"]
        names = [one["tenant"] for one in summary["services"]]
        self.assertEqual([row[0] for row in requests["services"]["rows"]], [*names, "chat (all replicas)"])
        heads = [column["name"] for column in requests["services"]["columns"]]
        whole = dict(zip(heads, requests["services"]["rows"][-1]))
        total = summary["service_totals"][0]
        self.assertEqual((whole["requests"], whole["first token, 99 %"], whole["met all targets"]),
                         (total["served"], total["first_token_ps"]["p99"], total["met"] / total["served"]))
        self.assertEqual([one["tenant"] for one in requests["held"]], names[:8])
        times = {(row[0], row[1]): row for row in requests["table"]["rows"]}
        self.assertEqual(times["chat.0", "first token"][3], summary["services"][0]["first_token_ps"]["mean"])
        self.browse("run", self.base / "quiet.html", folder / "summary.json")

    def test_what_is_of_iterations_is_not_compared_of_services(self):
        folder, _ = self.served("compared")
        trained = self.base / "trained"
        done = run(TESSERA, "run", REPOSITORY / "configs" / "experiments" / "quickstart.yaml", "-q", "-o", trained)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = run(TESSERA, "compare", folder, trained).stdout
        for name in ("iteration time", "ideal time", "samples an iteration"):
            self.assertRegex(text, rf"\n +{name} +- +[\d.]+( \w+)? +-\n")
        self.assertRegex(text, r"\n +simulated time +[\d.]+ \w+ +[\d.]+ \w+ +[\d.]+")

    def test_a_fleet_of_hundreds_of_replicas_is_reported(self):
        """What each held over time is not in the page, and bars narrower than a pixel are one area."""
        path = self.base / "fleet.yaml"
        path.write_text(
            "machine:\n  topology: {kind: mesh, rows: 10, columns: 60, bandwidth: 64 GB/s, latency: 10 ns}\n"
            "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
            "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 MB}\n"
            "  network: {model: analytical}\n  compute: {model: roofline}\n"
            "workload:\n  kind: serving\n  steps: whole\n  tenants:\n"
            "    - name: chat\n      replicas: 300\n      tensor: 2\n"
            "      language_model: {layers: 1, hidden: 64, heads: 4, sequence: 128, vocabulary: 64}\n"
            "      requests: {arrivals: poisson, rate: 3000000, count: 600, prompt: 20, generate: 4}\n", encoding="utf-8")
        folder, page = self.base / "large", self.base / "large.html"
        for words in (("run", path, "-q", "-o", folder, "--trace", "none"), ("report", folder, "-o", page)):
            done = run(TESSERA, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(page.stat().st_size, 2_000_000)
        found = re.search(r'<script type="application/json" id="report">(.*?)</script>', page.read_text(encoding="utf-8"),
                          re.DOTALL)
        report = json.loads(found[1])["runs"][0]
        self.assertEqual({one["windows"] for one in report["summary"]["services"]},
                         {"in summary.json: there are 300 services"})
        self.assertEqual([one["tenant"] for one in report["requests"]["held"]], [f"chat.{i}" for i in range(8)])
        self.assertEqual(report["requests"]["not_held"], 292)
        self.assertEqual(len(report["requests"]["services"]["rows"]), 301)
        done = run(REPOSITORY / "scripts" / "plot", folder, "-o", self.base / "pictures")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.base / "pictures" / "communication_bars.png").exists())

    def test_advice_is_of_services(self):
        _, report = self.served("kept up")
        told = json.dumps(report["advice"])
        for word in OF_TRAINING:
            self.assertNotIn(word, told)
        self.assertIn("keeps up", report["advice"][0]["title"])
        bounds = [entry["bound"] for entry in report["advice"]]
        self.assertEqual(len(bounds), len(set(bounds)))
        self.assertLessEqual({"targets", "prefill", "queueing", "decode"}, set(bounds))

    def test_a_service_that_is_asked_too_much_waits(self):
        _, report = self.served("too much", "workload.tenants.0.requests.rate=400")
        first, limit = report["advice"][:2]
        self.assertIn("does not keep up", first["title"])
        self.assertIn("More requests wait at the end", " ".join(first["lines"]))
        self.assertEqual(limit["bound"], "queueing")
        self.assertGreater(limit["share"], 0.5)
        self.assertIn("`replicas` (now 8)", " ".join(limit["lines"]))

    def test_a_cache_that_is_too_small_is_named(self):
        _, report = self.served("small cache", "workload.tenants.0.batching.cache=1 GB")
        limit = next(entry for entry in report["advice"] if entry["bound"] == "memory")
        self.assertGreater(limit["share"], 0.02)
        self.assertIn("`batching.cache_type: fp8`", " ".join(limit["lines"]))

    def test_advice_beside_other_tenants_knows_the_keys_of_a_service(self):
        experiment = REPOSITORY / "configs" / "experiments" / "tenants_serving.yaml"
        _, report = self.served("beside others", experiment=experiment)
        told = json.dumps(report["advice"])
        self.assertNotIn("(now ?)", told)
        self.assertIn("chat/long: does not keep up", report["advice"][0]["title"])
        self.assertIn("`tensor` (now 2)", told)

    def test_a_table_of_many_columns_fits_paper(self):
        (self.base / "sweep.yaml").write_text(
            f"experiment: {APART}\naxes:\n  workload.tenants.0.requests.rate: [20, 40]\n"
            "  workload.tenants.0.batching.chunk: [1024, 2048]\n"
            "  workload.tenants.0.requests.count: [100, 110]\nreport: [" + ", ".join(
                f"services.chat.{what}" for what in (
                    "first_token_ps.p50", "first_token_ps.p99", "between_tokens_ps.p50", "between_tokens_ps.p99",
                    "latency_ps.p50", "latency_ps.p99", "met_per_s", "late_tokens")) + "]\n", encoding="utf-8")
        folder = self.base / "sweep"
        done = run(TESSERA, "sweep", self.base / "sweep.yaml", "-o", folder, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        page, facts = self.base / "sweep.html", self.base / "facts.json"
        done = run(TESSERA, "report", folder, "-o", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.search(r'<script type="application/json" id="report">(.*?)</script>',
                          page.read_text(encoding="utf-8"), re.DOTALL)
        sweep = json.loads(found[1])["sweep"]
        facts.write_text(json.dumps({"points": 8, "best": f"point {sweep['numbers'][sweep['best']]}:",
                                     "other": "services.chat.latency_ps.p50"}), encoding="utf-8")
        self.browse("sweep", page, facts)


if __name__ == "__main__":
    unittest.main()
