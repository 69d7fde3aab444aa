"""Tests the fleet example on a local Ray cluster with two workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DATA

pytest.importorskip("ray", reason="the fleet example needs ray")
duckdb = pytest.importorskip("duckdb", reason="the fleet example needs duckdb")
FLEET = Path(__file__).parents[3] / "examples" / "fleet" / "fleet.py"


def test_each_actor_writes_its_reports_and_duckdb_joins_them(tmp_path):
    out = tmp_path / "reports"
    command = [sys.executable, FLEET, DATA / "0.27" / "chain_100.so", out, "--actors", "2", "--runs", "3"]
    settings = dict(os.environ, RAY_USAGE_STATS_ENABLED="0", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")
    done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=300)
    assert done.returncode == 0, done.stderr
    files = sorted(out.glob("machine=*/actor=*/run=*.parquet"))
    assert len(files) == 2 * 3 and {file.parent.name for file in files} == {"actor=0", "actor=1"}
    rows = duckdb.sql(
        f"SELECT actor, filename, count(*) FROM read_parquet('{out}/**/*.parquet', hive_partitioning = true, filename = true)"
        " WHERE Name NOT LIKE '(%' AND Name NOT LIKE 'vm.builtin%' GROUP BY ALL"
    ).fetchall()
    assert len(rows) == 6 and {count for _, _, count in rows} == {100}, rows
    assert "slowest_to_fastest" in done.stdout and "600" in done.stdout, done.stdout
