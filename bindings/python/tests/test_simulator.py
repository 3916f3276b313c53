"""The simulator's answers as tables."""

import os
import shutil

import pytest

import foresee
from foresee import simulator

pytest.importorskip("pandas")
if shutil.which(os.environ.get("FORESEE_COMMAND") or "foresee") is None:
    pytest.skip("the command foresee is not here: make build", allow_module_level=True)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "cycle.blocks"
    path.write_text("".join(f"{at % 10}\n" for at in range(1000)))
    return path


def test_each_policy_at_each_size(trace):
    table = foresee.simulate(trace, ["lru", "opt"], [8, 10], options=["--format", "blocks"])
    assert table[["policy", "cache_blocks", "hits"]].values.tolist() == [["lru", 8, 0], ["opt", 8, 770], ["lru", 10, 990],
                                                                       ["opt", 10, 990], ["unlimited", 10, 990]]
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(table)
    assert arrow["misses"].to_pylist() == [1000, 230, 10, 10, 10]


def test_a_trace_at_a_url(trace):
    options = ["--format", "blocks"]
    counts = ["policy", "cache_blocks", "hits"]
    here = foresee.simulate(trace, ["lru", "opt"], [8, 10], options=options)
    assert foresee.simulate(f"file://{trace}", ["lru", "opt"], [8, 10], options=options)[counts].equals(here[counts])
    # Longer than a pipe holds, and given up before it is read.
    trace.write_text("1\n" * 1_000_000)
    with pytest.raises(ValueError, match="lrru"):
        foresee.simulate(f"file://{trace}", "lrru", 10, options=options)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        foresee.simulate("file:///nowhere/trace", "lru", 10)


def test_what_is_wrong_is_said(trace, monkeypatch):
    with pytest.raises(ValueError, match="lrru"):
        foresee.simulate(trace, "lrru", 10, options=["--format", "blocks"])
    with pytest.raises(ValueError, match="nowhere"):
        foresee.simulate("/nowhere/trace", "lru", 10)
    monkeypatch.delenv("FORESEE_COMMAND", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError, match="FORESEE_COMMAND"):
        simulator.command()


def test_a_sweep_is_the_same_on_workers(trace):
    pytest.importorskip("joblib")
    options = ["--format", "blocks"]
    alone = foresee.sweep(trace, ["lru", "arc"], [5, 9], options=options)
    counts = ["trace", "policy", "cache_blocks", "hits"]
    assert len(alone) == 4
    assert foresee.sweep([trace], ["lru", "arc"], [5, 9], options=options, n_jobs=2)[counts].equals(alone[counts])


def test_a_sweep_on_dask(trace):
    """By processes of their own: what they do and what comes of it is pickled."""
    joblib, distributed = pytest.importorskip("joblib"), pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None):
        with joblib.parallel_config(backend="dask"):
            assert len(foresee.sweep(trace, ["lru", "arc"], [5, 9], options=["--format", "blocks"])) == 4


def test_a_sweep_on_ray(trace):
    joblib, ray = pytest.importorskip("joblib"), pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False)
    try:
        with joblib.parallel_config(backend="ray", n_jobs=2):
            assert len(foresee.sweep(trace, ["lru", "arc"], [5, 9], options=["--format", "blocks"])) == 4
    finally:
        ray.shutdown()
