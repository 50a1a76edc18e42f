"""Outputs appear when they are complete or not at all: after a kill, on a full disk, after an error."""

import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lambdarr as lr
from lambdarr import sinks

DESIGN = lr.design({"a": ["x", "y"], "b": ["p", "q", "r"]}, lam=0.5)


@pytest.fixture
def truths(tmp_path):
    n = 1 << 21
    table = pa.table({"a": ["x", "y"] * (n // 2), "b": ["p", "q", "r", "p"] * (n // 4)})
    path = tmp_path / "truths.csv"
    sinks.write_file(path, table.schema, table.to_batches())
    DESIGN.save(tmp_path / "design.json")
    return path


# The real command, but for a pause after every batch: whoever kills it is sure to find it in the midst of its work.
SLOWLY = """
import time
from lambdarr import sinks
write = sinks._Writer.write
sinks._Writer.write = lambda self, batch: (write(self, batch), time.sleep(0.3))
"""


def command(folder, output, before=""):
    program = [sys.executable, "-c", before + "from lambdarr.cli import run; run()", "randomize"]
    return [*program, str(folder / "truths.csv"), "-d", str(folder / "design.json"), "-o", str(folder / output)]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("output", ["reports.parquet", "reports.csv"])
def test_killed_run_leaves_nothing_behind(truths, end, output):
    folder = truths.parent
    before = sorted(os.listdir(folder))
    process = subprocess.Popen(command(folder, output, SLOWLY), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    descriptors = f"/proc/{process.pid}/fd"
    deadline = time.monotonic() + 60
    while not _is_writing(descriptors, folder):  # until it is in the midst of its work
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(end)
    process.communicate()
    assert process.returncode != 0
    assert sorted(os.listdir(folder)) == before


def _is_writing(descriptors, folder):
    """Return whether a process has put something into a file of the folder that has no name yet."""
    try:
        for number in os.listdir(descriptors):
            target = os.readlink(f"{descriptors}/{number}")
            if target.startswith(str(folder)) and "deleted" in target and os.stat(f"{descriptors}/{number}").st_size:
                return True
    except OSError:
        pass
    return False


@pytest.mark.parametrize("output", ["reports.parquet", "reports.csv", "reports.arrow"])
def test_disk_that_fills_up_is_one_clear_error_and_leaves_nothing(truths, output):
    folder = truths.parent
    before = sorted(os.listdir(folder))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); "
    done = subprocess.run(command(folder, output, limit), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "nothing was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(folder)) == before


def test_system_without_nameless_files_writes_beside_the_target(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    table = pa.table({"a": ["x", "y"]})
    sinks.write_file(tmp_path / "t.parquet", table.schema, table.to_batches())
    assert pq.read_table(tmp_path / "t.parquet").equals(table)

    def broken():
        yield table.to_batches()[0]
        raise lr.DataError("later")

    with pytest.raises(lr.DataError):
        sinks.write_file(tmp_path / "u.parquet", table.schema, broken())
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_file_has_the_permissions_of_any_other(tmp_path):
    table = pa.table({"a": ["x", "y"]})
    sinks.write_file(tmp_path / "t.csv", table.schema, table.to_batches())
    (tmp_path / "other.csv").write_text("a\n")
    assert (tmp_path / "t.csv").stat().st_mode == (tmp_path / "other.csv").stat().st_mode


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_metadata_of_the_truths_goes_no_further(tmp_path, ending):
    table = pa.table({"a": ["x", "y"], "b": ["p", "q"], "name": ["Ann", "Bob"]}, metadata={"r": "SECRET of name"})
    pq.write_table(table, tmp_path / "in.parquet")
    lr.randomize_file(tmp_path / "in.parquet", tmp_path / f"out.{ending}", DESIGN, drop=["name"])
    assert b"SECRET" not in (tmp_path / f"out.{ending}").read_bytes()
    assert b"SECRET" not in str(lr.randomize(table, DESIGN, drop=["name"]).schema.metadata).encode()


def test_text_written_from_codes_is_read_as_text(tmp_path):
    table = pa.table({"a": ["x", "y", "x"], "n": pa.array([1, 2, 3], pa.int16())}, metadata={"made": "here"})
    table.to_pandas().to_parquet(tmp_path / "in.parquet")
    design = lr.design({"a": ["x", "y"]}, lam=1.0, keep=["n"])
    lr.randomize_file(tmp_path / "in.parquet", tmp_path / "out.parquet", design)
    before, after = pq.read_table(tmp_path / "in.parquet"), pq.read_table(tmp_path / "out.parquet")
    assert after.equals(before)
    assert after.schema.types == before.schema.types
    assert after.to_pandas().dtypes.equals(before.to_pandas().dtypes)
