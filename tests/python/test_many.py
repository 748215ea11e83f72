"""Spaces of experiments, run side by side."""
import pytest
from conftest import small_experiment

import tessera as ts


def points():
    quiet = small_experiment(options=ts.RunOptions(trace="none"))
    return ts.grid(quiet, {"strategy.pipeline": [1, 2],
                           "machine.topology.bandwidth": ["50 GB/s", "100 GB/s"]})


def test_grid():
    made = points()
    assert [one.name for one in made] == [
        "small_pipeline=1_bandwidth=50GB-s", "small_pipeline=1_bandwidth=100GB-s",
        "small_pipeline=2_bandwidth=50GB-s", "small_pipeline=2_bandwidth=100GB-s"]
    assert made[2].settings == {"strategy.pipeline": 2, "machine.topology.bandwidth": "50 GB/s"}


def test_run_many(tmp_path):
    made, seen = points(), []
    runs = ts.run_many(made, tmp_path, workers=2, progress=lambda *told: seen.append(told[:2]))
    assert [number for number, of in seen] == [1, 2, 3, 4]
    assert [run.summary["experiment"] for run in runs] == [one.name for one in made]
    table = ts.summaries(runs, made)
    assert list(table["strategy.pipeline"]) == [1, 1, 2, 2]
    slow, fast = table["iteration_time_ps"][0], table["iteration_time_ps"][1]
    assert slow > fast


def test_errors(tmp_path):
    good, bad = points()[0], small_experiment(name="bad", strategy=ts.Strategy(pipeline=3, tensor=4))
    outcomes = ts.run_many([bad, good], tmp_path, errors="keep")
    assert isinstance(outcomes[0], ts.ConfigError)
    assert outcomes[1].status == "finished"
    table = ts.summaries(outcomes, [bad, good])
    assert table["error"][0] == str(outcomes[0])
    assert table["iteration_time_ps"].isna().tolist() == [True, False]
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "other.txt").write_text("of another", encoding="utf-8")
    with pytest.raises(ts.ConfigError, match="taken: the output folder holds 'other.txt'") as refused:
        good.run(taken)
    assert "info" not in str(refused.value)
    with pytest.raises(ts.ConfigError):
        ts.run_many([bad], tmp_path / "again")
    with pytest.raises(ValueError, match="two experiments are called 'bad'"):
        ts.run_many([bad, bad], tmp_path)
