"""Measures a program on all machines of a Ray cluster, and asks DuckDB what differs.

    python fleet.py MODEL OUT [--actors N] [--runs N]

Each actor has the program in a VM of its own, profiles it, and writes its reports as Parquet files in the directory OUT, one for each
run, under `machine=…/actor=…`. DuckDB, pandas, Polars and Spark read the directory as one table. Needs: ray, duckdb, pyarrow.
"""

import argparse
import platform
from pathlib import Path

import duckdb
import ray


@ray.remote(num_cpus=1)
class Machine:
    """The program on one machine. Ray sends the bytes, so the file need not be there."""

    def __init__(self, content: bytes, number: int) -> None:
        import opdyno

        self.number = number
        self.vm = opdyno.VirtualMachine(opdyno.load_module(content), opdyno.cpu())

    def measure(self, out: str, run: int, function: str, arguments: list) -> str:
        """Profiles one call after a warm-up; gives the file of its report."""
        report = self.vm.profile(function, *arguments, warmup=2)
        directory = Path(out) / f"machine={platform.node()}" / f"actor={self.number}"
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"run={run}.parquet"
        report.to_parquet(path)
        return str(path)


QUESTION = """
SELECT Name AS operator, count(DISTINCT machine || '/' || actor) AS actors, count(*) AS calls,
       round(median("Duration (us)"), 3) AS median_us,
       round(max(of_actor) / min(of_actor), 2) AS slowest_to_fastest
FROM (SELECT *, median("Duration (us)") OVER (PARTITION BY Name, machine, actor) AS of_actor
      FROM read_parquet('{out}/**/*.parquet', hive_partitioning = true))
WHERE Name NOT LIKE '(%'
GROUP BY Name ORDER BY sum("Duration (us)") DESC LIMIT 10
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--function", default="main")
    parser.add_argument("--shape", type=int, nargs="+", default=[4], help="of the float32 tensor that the function takes")
    parser.add_argument("--actors", type=int, default=0, help="0: one for each processor of the cluster")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    import numpy as np

    ray.init(log_to_driver=False, include_dashboard=False)  # or ray.init(address="auto") on a cluster
    count = options.actors or int(ray.cluster_resources()["CPU"])
    content = ray.put(options.model.read_bytes())
    machines = [Machine.remote(content, number) for number in range(count)]
    x = np.arange(np.prod(options.shape), dtype="float32").reshape(options.shape)
    for run in range(options.runs):  # all machines at once
        ray.get([machine.measure.remote(str(options.out), run, options.function, [x]) for machine in machines])
    ray.shutdown()
    print(duckdb.sql(QUESTION.format(out=options.out)))


if __name__ == "__main__":
    main()
