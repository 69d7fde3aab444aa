"""Tests of reports that a program builds, of their formats, and of their export to pyarrow, Polars, DuckDB and
Parquet."""

import gc
import json
import re

import pytest
from opdyno.profiling import Bytes, Count, Duration, Hertz, Percent, Ratio, Report


def sample(run=0, rows=20):
    """Operator k of run r takes 10 k + r µs."""
    calls = [
        {
            "Name": f"op{k % 10}",
            "Duration (us)": Duration(10.0 * (k % 10) + run),
            "Count": Count(1),
            "Percent": Percent(5.0),
            "Read (bytes)": Bytes(4096 * k),
        }
        for k in range(rows)
    ]
    calls[1]["IPC"] = Ratio(1.5)
    return Report(calls, {"cpu0": {"Duration (us)": Duration(900.0)}}, {"Executor": "VM", "Run": Count(run)})


def test_a_report_is_made_of_metrics():
    report = sample()
    assert len(report) == 20
    assert report.calls[1] == {
        "Name": "op1", "Duration (us)": Duration(10.0), "Count": Count(1), "Percent": Percent(5.0),
        "Read (bytes)": Bytes(4096), "IPC": Ratio(1.5),
    }
    assert report.device_metrics == {"cpu0": {"Duration (us)": Duration(900.0)}}
    assert report.configuration == {"Executor": "VM", "Run": Count(0)}
    assert Report.from_json(report.json()).calls == report.calls


def test_units_are_put_behind_names_that_lack_them():
    report = Report([{"Peak": Bytes(7), "Clock": Hertz(2e9)}], {}, {})
    assert report.calls == [{"Peak (bytes)": Bytes(7), "Clock (Hz)": Hertz(2e9)}]
    assert json.loads(report.json())["calls"][0]["Peak (bytes)"] == {"count": 7}, "TVM knows no bytes"


def test_what_is_no_metric_is_refused():
    with pytest.raises(TypeError, match="Duration \\(us\\) is of type float; a metric is a Count, Duration"):
        Report([{"Duration (us)": 1.5}], {}, {})
    with pytest.raises(TypeError):
        Report([{"Count": Count("1")}], {}, {})


def test_a_summary_fits_its_lines_and_has_so_many_rows():
    text = sample().summary(width=60, max_rows=3)
    rows = [row.split()[:3] for row in text.splitlines() if re.match(r"op\d +\d", row)]
    assert rows == [[f"op{k}", f"{20 * k}.0" if 2 * k < 10 else f"{20 * k}", "µs"] for k in (9, 8, 7)]
    assert max(map(len, text.splitlines())) <= 60 and "\x1b[" not in text
    assert "\x1b[" in sample().summary(colored=True)
    with pytest.raises(ValueError, match="width"):
        sample().summary(width=39)


def test_markdown_and_html_show_the_rows_of_the_table():
    report = sample()
    assert report.to_markdown(aggregate=False).count("\n| op") == 20
    assert report.to_markdown().count("\n| op") == 10
    page = report.to_html()
    assert page.startswith("<!DOCTYPE html>") and page.count("<tr><td class=\"text\">op") == 10
    cell = report._repr_html_()
    table, bars = (cell[cell.index(tag) :] for tag in ("<table>", '<div class="bars"'))
    assert cell.startswith('<div class="opdyno">') and "<script" not in cell and table.removesuffix("</div>") in page
    assert cell.count('<span class="bar"') == 10 and bars[: bars.index("<table>")] in page
    assert re.search(r'<p class="conclusion">(op\d takes \d+ % of the time)', cell)[1] in page


def test_pyarrow_reads_a_report():
    pyarrow = pytest.importorskip("pyarrow")
    report = sample()
    table = pyarrow.table(report)
    table.validate(full=True)
    assert table.column_names == ["Name", "Duration (us)", "Count", "Percent", "Read (bytes)", "IPC"]
    assert table["Name"].to_pylist() == [f"op{k % 10}" for k in range(20)]
    assert table["Duration (us)"].to_pylist() == [10.0 * (k % 10) for k in range(20)]
    assert table["Read (bytes)"].to_pylist() == [4096 * k for k in range(20)]
    assert table["IPC"].to_pylist() == [None, 1.5] + [None] * 18
    assert str(table["Name"].type) == "dictionary<values=string, indices=int64, ordered=0>"
    assert table.field("Read (bytes)").metadata == {b"opdyno.kind": b"bytes"}
    assert json.loads(table.schema.metadata[b"configuration"]) == {"Executor": {"string": "VM"}, "Run": {"count": 0}}
    del report
    gc.collect()
    assert table["Count"].to_pylist() == [1] * 20, "the table keeps the memory"
    assert pyarrow.table(Report([], {}, {})).num_rows == 0


def test_an_unread_stream_is_released():
    capsule = sample().__arrow_c_stream__()
    assert "arrow_array_stream" in repr(capsule)
    del capsule
    gc.collect()


def test_polars_reads_a_report():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(sample())
    slowest = frame.group_by("Name").agg(polars.col("Duration (us)").sum()).sort("Duration (us)", descending=True)
    assert slowest.row(0) == ("op9", 180.0)
    assert frame["IPC"].null_count() == 19


def test_parquet_keeps_rows_and_metadata(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    sample().to_parquet(tmp_path / "report.parquet")
    table = parquet.read_table(tmp_path / "report.parquet")
    assert table["Name"].to_pylist() == [f"op{k % 10}" for k in range(20)]
    assert b"device_metrics" in table.schema.metadata


def test_duckdb_finds_the_slowest_operators_of_100_reports(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    for run in range(100):
        sample(run).to_parquet(tmp_path / f"run{run}.parquet")
    query = """
        select Name, avg("Duration (us)") as us, count(*) as calls from read_parquet($files)
        group by Name order by us desc limit 3
    """
    with duckdb.connect() as database:
        rows = database.execute(query, {"files": str(tmp_path / "*.parquet")}).fetchall()
        # The mean of the runs' 0 … 99 µs is 49.5; two calls in each of 100 runs.
        assert rows == [("op9", 139.5, 200), ("op8", 129.5, 200), ("op7", 119.5, 200)]
        report = sample(7)  # a report itself is a table, too
        [(name, us)] = database.execute('select Name, max("Duration (us)") from report group by 1 order by 2 desc limit 1').fetchall()
        assert (name, us) == ("op9", 97.0)


def test_a_profile_becomes_a_page_and_a_table(chain):
    pyarrow = pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    report = chain.profile("main", numpy.arange(4, dtype="float32"))
    assert pyarrow.table(report).num_rows == len(report)
    assert "<h2>Time per operator</h2>" in report.to_html()
