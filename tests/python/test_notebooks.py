"""The tutorials run from the first cell to the last, and hold no outputs, which would age."""
import os
import pathlib

import nbclient
import nbformat
import pytest

TUTORIALS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials"
#: Needs an installed Tessera and a compiler: with the tests of the installed package.
COMPILED = "own_network"
NAMES = sorted(path.stem for path in TUTORIALS.glob("*.ipynb"))


def read(name):
    return nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)


def execute(name):
    """The notebook with its outputs."""
    notebook = read(name)
    nbclient.NotebookClient(notebook, timeout=280, kernel_name="python3",
                            resources={"metadata": {"path": str(TUTORIALS)}}).execute()
    return notebook


def outputs(notebook):
    return [one for cell in notebook.cells for one in cell.get("outputs", [])]


def test_there_are_those_that_the_pages_promise():
    assert NAMES == ["chakra_replay", "cluster_trains", "onnx_npu", "own_network",
                     "requests_served", "wafer_trains"]


@pytest.mark.parametrize("name", NAMES)
def test_form(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert not outputs(notebook)
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.parametrize("name", [name for name in NAMES if name != COMPILED])
def test_runs(name):
    assert outputs(execute(name))


@pytest.mark.skipif("TESSERA_PREFIX" not in os.environ, reason="no installed Tessera was named")
def test_compiled_one_runs():
    text = str(outputs(execute(COMPILED)))
    assert "one to three ranks agree" in text
    assert "ended with 2" in text
