"""The example that explores a trace, run from its first cell to its last."""

import os
import shutil
from pathlib import Path

import pytest

nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("joblib")
if shutil.which(os.environ.get("FORESEE_COMMAND") or "foresee") is None:
    pytest.skip("the command foresee is not here: make build", allow_module_level=True)


def test_a_trace_is_explored():
    notebook = nbformat.read(Path(__file__).parent.parent / "examples/trace.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=60).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    *_, differences, swept = [cell.outputs[-1]["data"]["text/plain"] for cell in code if cell.outputs]
    assert "opt" in differences and "0.000" in differences and "2q:recent=0.5" in swept
