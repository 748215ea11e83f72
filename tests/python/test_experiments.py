"""Experiments are checked and run by the program, and its errors carry over."""
import json

import pytest
from conftest import small_experiment, small_machine

import tessera as ts


def test_check(experiment):
    found = experiment.check(ranks=2)
    assert found["nodes"] == 4
    assert found["kind"] == "transformer"
    assert found.configuration["machine"]["topology"]["rows"] == 2
    assert found.predicted_bytes > 0
    assert found.ideal_time_s > 0
    assert sum(found["rank_nodes"]) == 4


def test_run_is_the_same_on_any_number_of_ranks(experiment, run, tmp_path):
    one = experiment.run(tmp_path / "one")
    assert one.status == "finished"
    assert run.summary["ranks"] == 2
    assert one.result_digest == run.result_digest
    assert one.iteration_time_s > 0


def test_settings(experiment, tmp_path):
    other = experiment.with_settings({"machine.network.model": "analytical",
                                      "strategy.pipeline": 1, "run.trace": "none"})
    made = other.run(tmp_path / "run")
    assert made.configuration["machine"]["network"]["model"] == "analytical"
    assert made.configuration["strategy"]["pipeline"] == 1
    assert experiment.settings == {}
    with pytest.raises(ts.ConfigError, match="did you mean 'machine.network.model'"):
        experiment.with_settings({"machine.network.modle": "analytical"})


def test_files(experiment, tmp_path):
    machine = tmp_path / "machine.yaml"
    experiment.machine.save(machine)
    experiment.machine = machine
    path = tmp_path / "experiment.yaml"
    experiment.save(path)
    again = ts.load(path)
    assert again.machine == str(machine)
    assert again.run(tmp_path / "run", trace="none").status == "finished"


def test_errors_of_the_program_carry_over(tmp_path):
    wrong = small_experiment(strategy=ts.Strategy(pipeline=3, tensor=4))
    for action in (wrong.check, lambda: wrong.run(tmp_path / "run")):
        with pytest.raises(ts.ConfigError) as caught:
            action()
        first = caught.value.diagnostics[0]
        assert first.file.endswith("experiment.yaml")
        assert first.line > 0
        assert first.text
        assert "strategy" in first.message
    assert not (tmp_path / "run").exists()


def test_error_in_a_file_of_the_user(tmp_path, experiment):
    path = tmp_path / "machine.yaml"
    path.write_text(experiment.machine.to_yaml() + "\nbandwith: 3\n", encoding="utf-8")
    experiment.machine = path
    with pytest.raises(ts.ConfigError) as caught:
        experiment.check()
    assert caught.value.diagnostics[0].file == str(path)
    with pytest.raises(ts.ConfigError, match="bandwith"):
        ts.Machine.load(path)


def test_ranks_and_folder(tmp_path, experiment, monkeypatch):
    with pytest.raises(ts.ConfigError, match="ranks: must be at least 1"):
        experiment.run(ranks=0)
    monkeypatch.chdir(tmp_path)
    made = experiment.run(trace="none")
    assert json.loads((tmp_path / "out/small/summary.json").read_text())["status"] == "finished"
    assert made.folder == "out/small"


def test_progress(tmp_path):
    long = small_experiment(options=ts.RunOptions(trace="none", iterations=1_000_000))
    seen = []

    def stop(progress):
        seen.append(progress)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        long.run(tmp_path / "run", progress=stop)
    assert 0 <= seen[0].fraction < 1
    assert seen[0].events > 0
    assert json.loads((tmp_path / "run/summary.json").read_text())["status"] == "stopped"


def test_no_program(experiment, monkeypatch):
    monkeypatch.setenv("TESSERA", "/nowhere/tessera")
    with pytest.raises(ts.ProgramError, match="/nowhere/tessera"):
        experiment.check()


def test_machine_from_python_is_that_of_yaml(repository, tmp_path):
    """palm_wafer and the quickstart written in Python give the digest of the files."""
    of_files = ts.load(repository / "configs/experiments/quickstart.yaml")
    wafer = ts.Machine.load(repository / "configs/machines/palm_wafer.yaml")
    made = ts.Experiment(
        name="quickstart", machine=wafer.replace(name="palm_wafer"),
        workload=ts.workloads.Transformer(
            name="tiny", layers=8, hidden=512, heads=8, sequence=256, vocabulary=8192, batch=32,
            data_type="fp16", optimizer="adam"),
        strategy=ts.Strategy(pipeline=8, tensor=4, data=2, micro_batch=2, schedule="1f1b",
                             placement={"layout": "s-shape"}),
        options=ts.RunOptions(trace="none"))
    one = of_files.run(tmp_path / "one", trace="none")
    assert made.run(tmp_path / "two").result_digest == one.result_digest


def test_nested_sections():
    machine = small_machine(types={"slow": {"nodes": ["0"], "efficiency": 0.5}})
    assert isinstance(machine.types["slow"], ts.TileType)
    assert machine.to_dict()["types"]["slow"]["efficiency"] == 0.5
