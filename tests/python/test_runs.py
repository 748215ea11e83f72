"""Results as tables: they are those of the files, of all ranks, with units."""
import json
import pathlib
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from conftest import small_experiment

import tessera as ts


def test_summary(run):
    assert run.status == "finished"
    assert run.iteration_time_s == run.summary["iteration_time_ps"] / 1e12
    assert 0 < run.utilization <= 1
    assert "small" in run._repr_html_()


def test_what_work_measures(run, tmp_path):
    assert run.measured().empty
    traffic = small_experiment(workload=ts.workloads.Traffic(rate=0.2, cycles=500), strategy=None,
                               options=ts.RunOptions(trace="none")).run(tmp_path / "traffic")
    table = traffic.measured()
    assert len(table) == 1
    assert 300 < table.messages_sent[0] == table.messages_delivered[0]
    assert table.latency_least_ps[0] <= table.latency_mean_ps[0] <= table.latency_most_ps[0]


def test_breakdown(run):
    table = run.breakdown()
    assert table.index[0] == "total"
    assert len(table) == 3
    total = run.summary["breakdown"]["total"]
    for activity in table.columns:
        assert table.loc["total", activity] == total[activity]["mean_ps"] / 1e12
    assert table.sum(axis=1)["total"] == pytest.approx(run.simulated_time_s)


def test_tables_are_those_of_all_ranks(run):
    manifest = json.loads(pathlib.Path(run.folder, "manifest.json").read_text("utf-8"))
    rows = [entry["rows"] for entry in manifest["files"] if "rows" in entry]
    assert len(rows) == 2
    assert {"nodes", "operators", "messages", "links", "link_bins"} <= set(run.tables)
    for name in run.tables:
        assert len(run.table(name)) == sum(of_rank[name] for of_rank in rows)


def test_units_and_names(run):
    operators = run.operators
    assert operators.attrs["units"]["start"] == "ps"
    assert operators.attrs["descriptions"]["node"] == "the tile"
    assert set(operators["phase"]) <= {"forward", "backward", "update"}
    assert operators["name"].dtype == "category"
    assert operators["name"].notna().all()
    seconds = ts.in_seconds(operators)
    assert seconds.attrs["units"]["start"] == "s"
    assert seconds["end"].max() == pytest.approx(operators["end"].max() / 1e12)
    numbers = run.table("operators", decode=False)
    with h5py.File(run.folder + "/trace.00000.h5", "r", libver="latest", swmr=True) as file:
        phases = file.attrs["phases"]
    phases = (phases.decode() if isinstance(phases, bytes) else phases).split(",")
    assert [phases[number] for number in numbers["phase"]] == list(operators["phase"])


def test_links_over_time_are_those_of_the_whole_run(run):
    links = run.links_over_time()
    whole = run.links
    assert links.sizes["link"] == len(whole)
    assert links["bytes"].attrs["units"] == "B"
    whole = whole.set_index(["node", "port"]).sort_index()
    assert np.array_equal(links["bytes"].sum("time"), whole["bytes"])
    assert np.array_equal(links["busy"].sum("time"), whole["busy"])
    assert np.array_equal(links["largest_queue"].max("time"), whole["largest_queue"])
    use = links["busy"] / links["width"]
    assert float(use.max()) <= 1
    assert links["bytes"].dtype.kind == "i"


def test_channels_over_time(run):
    channels = run.channels_over_time()
    assert int(channels["read"].sum()) == run.channels["read"].sum() > 0


def test_messages_and_nodes(run):
    carried = run.messages.groupby("traffic", observed=True)["bytes"].sum()
    assert carried["activation"] + carried["gradient"] == run.summary["message_bytes"]
    assert carried.sum() == run.summary["message_bytes"] + run.summary["collective_bytes"]
    assert list(run.nodes["node"]) == [0, 1, 2, 3]
    assert set(run.nodes["rank"]) == {0, 1}


def test_what_there_is_not(run):
    with pytest.raises(KeyError, match="there is no table 'operator'"):
        run.table("operator")
    with pytest.raises(KeyError, match="holds no rows of table 'core_bins'"):
        run.cores_over_time()
    with pytest.raises(ts.TraceError, match="folder of a run"):
        ts.Run("/nowhere")


def test_damage_is_found(run, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(run.folder, folder)
    trace = folder / "trace.00001.h5"
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] ^= 1
    trace.write_bytes(data)
    damaged = ts.Run(folder)
    assert damaged.status == "finished"
    with pytest.raises(ts.TraceError, match="trace.00001.h5: damaged"):
        _ = damaged.operators


def test_pictures(run, tmp_path):
    picture = run.plot("timeline", tmp_path)
    assert picture._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ts.ConfigError, match="^there is no picture 'timelin', but timeline, placement"):
        run.plot("timelin", tmp_path)


def test_configuration(run):
    assert run.configuration["run"]["bins"] == 4


def test_summary_on_stdout_is_that_of_the_file(run, program):
    done = subprocess.run([program, "show", run.folder, "--json"], capture_output=True, check=True)
    assert json.loads(done.stdout) == run.summary


def test_no_link_of_a_switch_with_many_ports_is_taken_for_another(tmp_path):
    servers = 260
    cluster = ts.topologies.Cluster(
        nodes=servers, accelerators=1, nics=1,
        switch={"bandwidth": "300 GB/s", "latency": "250 ns"},
        nic={"bandwidth": "60 GB/s", "latency": "1 us"},
        port={"bandwidth": "30 GB/s", "latency": "1 us"},
        fabric={"kind": "switch"})
    machine = ts.Machine(topology=cluster, tile=ts.Tile(peak={"fp16": "900 TFLOP/s"}, sram="50 MB"),
                         network=ts.networks.Packet(routing="cluster"))
    wide = small_experiment(
        machine=machine, strategy=ts.Strategy(data=servers),
        workload=ts.workloads.Transformer(layers=1, hidden=64, heads=4, sequence=16, vocabulary=64, batch=servers),
        options=ts.RunOptions(trace="summary", bins=2)).run(tmp_path / "wide")
    links = wide.links_over_time()
    assert links.sizes["link"] == len(wide.links) >= 4 * servers
    assert float((links["busy"] / links["width"]).max()) <= 1
    assert int(links["bytes"].sum()) == wide.links["bytes"].sum()
