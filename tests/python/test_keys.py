"""Classes are what the program declares now, and refuse what it would refuse."""
import inspect
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from conftest import small_machine

import tessera as ts
from tessera import declared, sections, yaml_text


def test_tree_is_what_the_program_says(repository, program):
    done = subprocess.run([sys.executable, repository / "scripts/python_stubs.py", program, "--check"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_check_finds_a_changed_key(repository, program, tmp_path):
    for folder in ("scripts", "python"):
        shutil.copytree(repository / folder, tmp_path / folder,
                        ignore=shutil.ignore_patterns("__pycache__"))
    keys = tmp_path / "python/tessera/keys.json"
    text = keys.read_text("utf-8")
    keys.write_text(text.replace('"bandwidth"', '"bandwith"', 1), encoding="utf-8")
    script = tmp_path / "scripts/python_stubs.py"
    done = subprocess.run([sys.executable, script, program, "--check"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1
    assert "keys.json" in done.stdout


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_types(repository, tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "import tessera as ts\n"
        "mesh = ts.topologies.Mesh(rows=2, columns=2, bandwidth='1 GB/s', latency='1 ns')\n"
        "rows: int = mesh.rows\n"
        "wrong = ts.topologies.Mesh(rows='2', colums=2, bandwidth='1 GB/s', latency='1 ns')\n"
        "ts.RunOptions(trace='all')\n", encoding="utf-8")
    # In one run, since most of its time it reads what both import.
    done = subprocess.run(["mypy", "--strict", "--config-file", "pyproject.toml", "--cache-dir", tmp_path / "cache",
                           "-p", "tessera", "-m", "user"], capture_output=True, text=True, check=False,
                          cwd=repository / "python", env={**os.environ, "MYPYPATH": str(tmp_path)})
    faults = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert faults and all("user.py" in line for line in faults), done.stdout + done.stderr
    assert {line.split("user.py:")[1].split(":")[0] for line in faults} == {"4", "5"}, done.stdout


@pytest.mark.parametrize("make, complaint", [
    (lambda: ts.topologies.Mesh(rows=2, colums=2, bandwidth="1 GB/s", latency="1 ns"),
     "unknown key 'colums'; did you mean 'columns'"),
    (lambda: ts.topologies.Mesh(rows=0, columns=2, bandwidth="1 GB/s", latency="1 ns"),
     "Mesh.rows: must be .*1"),
    (lambda: ts.topologies.Mesh(rows=2.5, columns=2, bandwidth="1 GB/s", latency="1 ns"),
     "Mesh.rows: expected a whole number"),
    (lambda: ts.topologies.Mesh(rows=2, columns=2, bandwidth=1e9, latency="1 ns"),
     "Mesh.bandwidth: .* has no unit"),
    (lambda: ts.topologies.Mesh(rows=2, columns=2, bandwidth="1 GB", latency="1 ns"),
     "Mesh.bandwidth: unknown unit 'GB'"),
    (lambda: ts.topologies.Mesh(rows=2, columns=2), "Mesh: missing: bandwidth, latency"),
    (lambda: ts.RunOptions(trace="all"), "RunOptions.trace: unknown name 'all'"),
    (lambda: ts.RunOptions(iterations=0), "RunOptions.iterations: must be .*1"),
    (lambda: ts.Strategy(placement={"layot": "line"}), "Strategy.placement: unknown key 'layot'"),
    (lambda: small_machine(network={"model": "packets"}), "network.model: unknown name 'packets'"),
    (lambda: small_machine(network=ts.Tile(peak={}, sram="1 B")), "a Tile does not belong here"),
    (lambda: ts.workloads.Tenants(tenants=[{"name": "a", "tiles": "all",
                                            "workload": {"kind": "transformr"}}]),
     r"tenants\[0\].workload.kind: unknown name 'transformr'; did you mean 'transformer'"),
    (lambda: ts.workloads.Serving(tenants=[{"requests": {"arrivals": "poisson", "rat": 1}}]),
     r"tenants\[0\].requests: unknown key 'rat'; did you mean 'rate'"),
])
def test_refused(make, complaint):
    with pytest.raises(ts.ConfigError, match=complaint):
        make()


def test_values_are_checked_when_they_are_set():
    mesh = small_machine().topology
    mesh.rows = 8
    with pytest.raises(ts.ConfigError, match="Mesh.rows"):
        mesh.rows = "8"
    with pytest.raises(ts.ConfigError, match="unknown key 'row'"):
        mesh.row = 8
    assert mesh.rows == 8
    assert mesh.replace(rows=3).rows == 3
    assert mesh.rows == 8


def test_defaults_are_those_of_the_program():
    options = ts.RunOptions()
    assert options.iterations == 1
    assert ts.networks.Packet().packet_size is not None
    assert options.to_dict() == {}


def test_help_names_every_key():
    for name, made in ts.topologies.__dict__.items():
        if inspect.isclass(made) and made.__module__ == ts.topologies.__name__ and name != "Topology":
            assert set(inspect.signature(made).parameters) == {
                sections.attribute(key) for key in made.declared.fields}
            for key in made.declared.fields:
                assert key in made.__doc__


FILES = {"machines": "configs/machines/*.yaml", "workloads": "workloads/*.yaml",
         "experiments": "configs/experiments/*.yaml"}


def shipped(kind, repository):
    return sorted(repository.glob(FILES[kind]))


def same(one, other):
    """Equal but for paths, which are absolute here."""
    if isinstance(one, dict):
        return isinstance(other, dict) and {str(key) for key in one} == set(other) and all(
            same(value, other[str(key)]) for key, value in one.items())
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return one == other or (isinstance(other, str) and other.startswith("/"))


def test_shipped_machines_and_works_are_taken_whole(repository):
    for kind, base in (("machines", ts.Machine), ("workloads", ts.workloads.Workload)):
        files = shipped(kind, repository)
        assert len(files) > 20
        for path in files:
            made = base.load(path)
            assert same(yaml_text.load(path), made.to_dict()), path


def test_shipped_experiments_are_taken_whole(repository):
    files = shipped("experiments", repository)
    assert len(files) > 10
    for path in files:
        assert same({"name": path.stem, **yaml_text.load(path)}, ts.load(path).to_dict()), path


def test_yaml_is_read_back(experiment):
    assert yaml_text.loads(experiment.to_yaml()) == experiment.to_dict()
    text = {"a": "yes", "b": "010", "c": "1.5", "d": True, "e": [1, 2.5], "f": "x: y", "g": "null"}
    assert yaml_text.loads(yaml_text.dump(text)) == text
    assert yaml.safe_load(yaml_text.dump(text)) == text


def test_every_setting_is_known():
    keys = declared.setting_keys()
    assert {"machine.network.model", "strategy.placement.layout", "run.trace"} <= keys
