#!/usr/bin/env python3
"""Ranks and regrets of strategies, and the count of fitted numbers, on inputs whose answers are known."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "tessera_validate"))

from training_clusters import fitted
from training_clusters.ranking import groups_of, tau_b


def row(model, tensor, batch=8):
    return {"model": model, "gpus": "8", "batch": str(batch), "tp": str(tensor), "iter_time_s": "ignored"}


class Tau(unittest.TestCase):
    def test_one_order(self):
        self.assertEqual(tau_b((1, 2, 3, 4), (10, 20, 30, 31)), 1)

    def test_the_other_order(self):
        self.assertEqual(tau_b((1, 2, 3), (3, 2, 1)), -1)

    def test_one_pair_of_six_swapped(self):
        self.assertAlmostEqual(tau_b((1, 2, 3, 4), (1, 3, 2, 4)), 4 / 6)

    def test_ties(self):
        """Of ten pairs two are tied by the first, one by the second; two agree and six do not."""
        self.assertAlmostEqual(tau_b((12, 2, 1, 12, 2), (1, 4, 7, 1, 0)), -4 / (8 * 9) ** 0.5)

    def test_nothing_but_ties(self):
        self.assertIsNone(tau_b((1, 1, 1), (1, 2, 3)))


class Groups(unittest.TestCase):
    def test_a_task_is_a_model_with_gpus_and_samples(self):
        found = [(row("a", 1), 1, 1), (row("a", 2), 1, 1), (row("a", 4), 1, 1), (row("b", 1), 1, 1), (row("a", 1, 16), 1, 1)]
        groups = groups_of(found, 3)
        self.assertEqual([group.task for group in groups], [("a", "8", "8")])
        self.assertEqual(groups[0].strategies, (("1",), ("2",), ("4",)))

    def test_a_strategy_measured_twice_is_one(self):
        group, = groups_of([(row("a", 1), 5, 10), (row("a", 1), 5, 14), (row("a", 2), 6, 11)], 2)
        self.assertEqual((group.ours, group.measured), ((5, 6), (12, 11)))

    def test_regret_is_of_the_one_that_is_best_by_ours(self):
        group, = groups_of([(row("a", 1), 5, 110), (row("a", 2), 6, 100), (row("a", 4), 7, 300)], 3)
        self.assertAlmostEqual(group.regret, 0.10)
        self.assertEqual((group.chosen, group.best), (0, 1))

    def test_of_those_tied_by_ours_it_is_the_worst(self):
        group, = groups_of([(row("a", 1), 5, 100), (row("a", 2), 5, 150), (row("a", 4), 7, 300)], 3)
        self.assertAlmostEqual(group.regret, 0.50)

    def test_no_regret(self):
        group, = groups_of([(row("a", 1), 5, 100), (row("a", 2), 6, 150)], 2)
        self.assertEqual(group.regret, 0)


MACHINE = """
name: small
topology:
  links:
    - bandwidth: 2 GB/s  # measured: all-reduces (nccl_fit.py)
      latency: 1 us  # measured: as above
# fitted: operators/fit.py,
# products of a model
compute:
  fill: 42  # fitted: as above
  launch_overhead: 3 us  # assumed: as for others
  gap: 1 us  # assumed: as launch_overhead
  peak: 9 TFLOP/s  # a data sheet
  skip: 8  # fitted: as fill
"""


class Fitted(unittest.TestCase):
    def test_kinds(self):
        kinds = {number.path: number.kind for number in fitted.numbers_of(MACHINE)}
        self.assertEqual(kinds, {"topology.links.bandwidth": "fitted", "topology.links.latency": "fitted",
                                 "compute.fill": "fitted", "compute.launch_overhead": "assumed", "compute.gap": "assumed",
                                 "compute.peak": "published", "compute.skip": "fitted"})

    def test_sources_lead_to_what_they_refer_to(self):
        sources = {number.key: number.source for number in fitted.numbers_of(MACHINE)}
        self.assertEqual(sources["latency"], "measured: all-reduces (nccl_fit.py)")
        self.assertEqual(sources["fill"], "fitted: operators/fit.py, products of a model")
        self.assertEqual(sources["skip"], sources["fill"])

    def test_every_fitted_number_says_how_much_was_measured(self):
        for device in fitted.FILES:
            rows = fitted.fitted_rows(device)
            self.assertGreater(len(rows), 5)
            for each in rows:
                self.assertGreater(each[-1], 1, each)

    def test_none_is_lost(self):
        """Every line of a file that says `fitted:` behind a value is a fitted number."""
        for device in fitted.FILES:
            stated = {(number.key, number.value) for number in fitted.numbers_of_device(device) if number.kind == "fitted"}
            for file in fitted.FILES[device]:
                for line in (fitted.MACHINES / f"{file}.yaml").read_text(encoding="utf-8").splitlines():
                    name, _, value = line.partition("  # fitted:")[0].strip().partition(": ")
                    if "  # fitted:" in line:
                        self.assertIn((name, value), stated)


if __name__ == "__main__":
    unittest.main()
