"""No cycles: of units of C++ (a header and the source of its stem) within a folder of src/, and of modules of the Python package.

Where files include each other in a circle, none can be read, tested or moved without all others. Run by ctest as
abi_test.py is. `python3 cycles_test.py --list` prints the cycles that there are, with their includes.
"""

import ast
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("OPDYNO_ROOT", pathlib.Path(__file__).parents[2]))
LOCAL = re.compile(r'^\s*#include "([^"]+)"', re.M)

# The cycles that remain, by their units below src/, and why they do. Make none longer; turn an include if you work there.
KNOTS = {
    "base/file base/output_file base/random_bytes": "a new file has a random name; file.h has the text of the system's errors",
    "device/cpu/thread_pool device/cpu/worker_set": "the pool owns the workers, which are seen through it",
    "device/cuda/cuda_context device/cuda/cupti_activity":
        "a context keeps the streams and events that are made in it",
    "device/graph device/memory/allocator device/memory/device_memory":
        "a device's memory makes its allocators, which take blocks of it; a graph keeps blocks",
    "trace/file/event_file trace/file/thread_block": "a block of the file has its format",
    "trace/record/alarm trace/record/device_work trace/record/ranges trace/record/recorder trace/record/recording":
        "the recorder knows all recordings, which enter themselves",
    "trace_views/span_rows trace_views/trace_report": "both have the text of an event's kind",
    "value/hash value/type_table": "a type's own hash; the hash of a type's name",
    "value/tensor value/value": "a value holds a tensor, and makes one of a view",
    "vm/any_vm vm/cancel vm/observe vm/run vm/vm": "a VM makes runs, which call its functions",
    "vm/kv/kv_config vm/kv/kv_forward vm/kv/kv_sequences vm/kv/kv_state vm/kv/paged_kv_cache vm/kv/rnn_state":
        "kv_state makes the two kinds of state",
}

BUILT = ("opdyno._native", "opdyno._results")  # modules of the Python package that only a build makes


def knots(graph):
    """The sets of more than one node that reach each other (Tarjan's strongly connected components), each sorted."""
    order, lowest, path, found = {}, {}, [], []

    def visit(node):
        order[node] = lowest[node] = len(order)
        path.append(node)
        for other in graph[node]:
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in path:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            start = path.index(node)
            found.append(sorted(path[start:]))
            del path[start:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(knot for knot in found if len(knot) > 1)


def units():
    """Each unit of src/ with the units of its folder that it includes, and by which files: {unit: {unit: [file]}}."""
    graph = {}
    src = (ROOT / "src").resolve()
    for source in sorted(src.rglob("*")):
        if source.suffix not in {".h", ".cc"}:
            continue
        name = source.relative_to(src)
        edges = graph.setdefault(str(name.with_suffix("")), {})
        for include in LOCAL.findall(source.read_text()):
            places = (place / include for place in (source.parent, src / name.parts[0], src))
            found = next((place for place in places if place.suffix == ".h" and place.is_file()), None)
            other = found and found.resolve().relative_to(src).with_suffix("")
            if other and other.parts[0] == name.parts[0] and other != name.with_suffix(""):
                edges.setdefault(str(other), []).append(source.name)
    return graph


def modules():
    """Each module of the Python package with the modules that it imports when it runs, wherever the import stands."""
    package = ROOT / "bindings/python/opdyno"
    name_of = {file: ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
               for file in sorted(package.rglob("*.py"))}
    names = {*name_of.values(), *BUILT}
    graph = {}
    for file, name in name_of.items():
        home = name.split(".") if file.stem == "__init__" else name.split(".")[:-1]
        edges = graph.setdefault(name, {})
        waiting = [ast.parse(file.read_text())]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                waiting += node.orelse
                continue
            waiting += ast.iter_child_nodes(node)
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            origin = ".".join(home[: len(home) - node.level + 1] + ([node.module] if node.module else []))
            for imported in {f"{origin}.{one.name}" if f"{origin}.{one.name}" in names else origin for one in node.names}:
                if imported in name_of.values() and imported != name:
                    edges.setdefault(imported, []).append(f"{file.name}:{node.lineno}")
    return graph


def described(graph, knot):
    edges = [f"  {unit} includes {other} ({', '.join(graph[unit][other])})"
             for unit in knot for other in sorted(graph[unit]) if other in knot]
    return "\n".join([f"a cycle of {len(knot)}: {' '.join(knot)}", *edges])


class Cycles(unittest.TestCase):
    def compare(self, graph, listed):
        there = [" ".join(knot) for knot in knots(graph)]
        wrong = [described(graph, knot.split()) for knot in there if knot not in listed]
        wrong += [f"listed, but not there: {knot}" for knot in listed if knot not in there]
        if wrong:
            self.fail("\n".join(["", *wrong]))

    def test_units_of_a_folder_include_each_other_in_no_circle_but_the_listed_ones(self):
        self.compare(units(), KNOTS)

    def test_modules_of_the_python_package_import_each_other_in_no_circle(self):
        graph = modules()
        self.assertIn("opdyno.vm", graph["opdyno"])  # else no import was found
        self.compare(graph, {})


if __name__ == "__main__":
    if "--list" in sys.argv:
        for graph in (units(), modules()):
            print(*(described(graph, knot) for knot in knots(graph)), sep="\n")
    else:
        unittest.main(verbosity=2)
