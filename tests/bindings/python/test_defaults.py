"""Tests that a keyword with the name of a C option has the option's default."""

import inspect
import sys
from pathlib import Path

import pytest

from opdyno import BenchmarkResult, Module, Report, VirtualMachine, load_params, profiler, profiling
from opdyno._trace_events import EventList

REPOSITORY = Path(__file__).parents[3]
sys.path.append(str(REPOSITORY / "bindings" / "api"))
from comments import comments_of, split_default

OPTIONS = [
    (VirtualMachine.profile_with_trace, "opd_profile_options"),
    (VirtualMachine.profiling, "opd_profile_options"),
    (VirtualMachine.time_evaluator, "opd_evaluator_options"),
    (Module.time_evaluator, "opd_evaluator_options"),
    (BenchmarkResult.diff, "opd_diff_options"),
    (profiling.diff, "opd_diff_options"),
    (Report.table, "opd_report_write_options"),
    (Report.to_markdown, "opd_report_write_options"),
    (Report.to_html, "opd_report_write_options"),
    (load_params, "opd_params_options"),
    (profiler.profile.__init__, "opd_profiler_options"),
    (profiler.schedule, "opd_profiler_options"),
    (profiler.Dumps.__init__, "opd_profiler_dump_options"),
    (EventList.table, "opd_trace_write_options"),
    (EventList.key_averages, "opd_trace_write_options"),
    (profiler.merge, "opd_trace_merge_options"),
]


def documented(struct):
    """A map from options to the defaults in the header's comments. tests/abi compares these with the defaults in C."""
    comments = comments_of([REPOSITORY / "include"])
    fields = {name.removeprefix(f"{struct}."): text for name, text in comments.items() if name.startswith(f"{struct}.")}
    return {name: split_default(text)[1] for name, text in fields.items()}


def number(text):
    base, _, exponent = text.partition("^")
    return int(base) ** int(exponent) if exponent else float(base)


@pytest.mark.parametrize("function, struct", OPTIONS, ids=lambda each: getattr(each, "__qualname__", each))
def test_keywords_have_the_defaults_of_c(function, struct):
    options, compared = documented(struct), 0
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in options or parameter.default is inspect.Parameter.empty:
            continue
        compared += 1
        expected = options[name]
        if parameter.default is None:  # the option is not set
            continue
        if isinstance(parameter.default, str):  # the name of an enum item
            assert expected.lower().endswith(f"_{parameter.default}"), name
        else:
            assert parameter.default == number(expected), name
    assert compared > 0
