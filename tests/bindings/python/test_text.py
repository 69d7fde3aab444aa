"""Tests that a NUL character in text for the C API is a ValueError that shows the text, because the NUL would end the
text in C."""

import re

import numpy as np
import pytest

import opdyno

# Calls with the text `s`. Each would succeed with the part before the NUL character.
TAKERS = {
    "name of a VM's function": lambda vm, s: vm[s],
    "name of a bound function": lambda vm, s: vm.function(s),
    "name of a call": lambda vm, s: vm.call(s, 1, 2),
    "name of a saved function": lambda vm, s: vm.save_function("add", s, 1, 2),
    "name of a profiled function": lambda vm, s: vm.profile(s, 1, 2),
    "name of stateful inputs": lambda vm, s: vm.set_input(s, 1, 2),
    "name of a stateful call": lambda vm, s: vm.invoke_stateful(s),
    "name of a function that is looked for": lambda vm, s: vm.has_function(s),
    "name of a function with parameters": lambda vm, s: vm.parameter_names(s),
    "parameter of a function": lambda vm, s: vm["add"](1, **{s: 2}),
    "parameter of a call": lambda vm, s: vm.call("add", 1, **{s: 2}),
    "parameter of a profile": lambda vm, s: vm.profile("add", 1, **{s: 2}),
    "dtype": lambda vm, s: opdyno.DataType(s),
    "dtype of a tensor": lambda vm, s: opdyno.empty((1,), s),
    "device": lambda vm, s: opdyno.device(s),
    "device of a tensor": lambda vm, s: opdyno.empty((1,), device=s),
    "device of a copy": lambda vm, s: opdyno.tensor(np.zeros(1), s),
    "device class": lambda vm, s: opdyno.Device(s),
    "registered name": lambda vm, s: opdyno.register_func(s, len),
    "global name": lambda vm, s: opdyno.get_global_func(s),
    "removed name": lambda vm, s: opdyno.remove_global_func(s),
    "preprocessor": lambda vm, s: vm.time_evaluator("add", opdyno.cpu(), f_preproc=s),
    "path of a module": lambda vm, s: opdyno.load_module(s),
    "format of a module": lambda vm, s: opdyno.load_module("none.so", s),
    "option": lambda vm, s: opdyno.load_source("int x;", c_flags=s),
    "name of an option": lambda vm, s: opdyno.load_source("int x;", **{s: 1}),
    "path of a C library": lambda vm, s: opdyno.load_native(s, {"hypot": "f64(f64, f64)"}),
    "name of a C function": lambda vm, s: opdyno.load_native("libm.so.6", {s: "f64(f64, f64)"}),
    "signature": lambda vm, s: opdyno.load_native("libm.so.6", {"hypot": s}),
    "path of objects": lambda vm, s: opdyno.load_static_library(s, []),
    "names in objects": lambda vm, s: opdyno.load_static_library("none.o", ["f", s]),
    "prefix of the system's library": lambda vm, s: opdyno.system_lib(s),
    "target": lambda vm, s: opdyno.enabled(s),
    "name of a module's function": lambda vm, s: opdyno.system_lib().get_function(s),
    "name that a module is asked for": lambda vm, s: opdyno.system_lib().implements_function(s),
    "symbol": lambda vm, s: opdyno.system_lib().native_function(s, "void()"),
    "signature of a symbol": lambda vm, s: opdyno.system_lib().native_function("f", s),
    "format of a source": lambda vm, s: opdyno.system_lib().get_source(s),
    "path of a saved module": lambda vm, s: opdyno.system_lib().save(s),
    "path of an export": lambda vm, s: opdyno.system_lib().export_library(s),
    "addon of an export": lambda vm, s: opdyno.system_lib().export_library("none.so", addons=["a.o", s]),
    "compiler of an export": lambda vm, s: opdyno.system_lib().export_library("none.so", cc=s),
    "path of parameters": lambda vm, s: opdyno.load_params(s),
    "path of saved parameters": lambda vm, s: opdyno.Params().save(s),
    "name of a parameter": lambda vm, s: opdyno.Params({s: np.zeros(1)}),
    "name of a parameter that is looked for": lambda vm, s: opdyno.Params()[s],
    "metric": lambda vm, s: opdyno.Report([{s: "x"}], {}, {}),
    "device of a metric": lambda vm, s: opdyno.Report([], {s: {"x": "y"}}, {}),
    "metric of a diff": lambda vm, s: opdyno.profiling.diff(opdyno.Report([], {}, {}), opdyno.Report([], {}, {}), metric=s),
    "event": lambda vm, s: opdyno.profiling.PAPIMetricCollector({opdyno.cpu(): [s]}),
}


# Valid beginnings of the text, so that only the NUL character can be wrong.
BEGINNINGS = {"dtype": "float32", "device": "cpu:0", "parameter": "y", "name of an option": "copy"}


@pytest.mark.parametrize("what", TAKERS)
def test_a_nul_character_is_an_error(host_vm, what):
    beginning = next((good for start, good in BEGINNINGS.items() if what.startswith(start)), "add")
    text = beginning + "\0x"
    with pytest.raises(ValueError, match=re.escape(f"has a NUL character: {text!r}")):
        TAKERS[what](host_vm, text)


def test_a_nul_character_in_the_name_of_a_collector_s_metric_is_an_error(host_vm):
    class Odd(opdyno.profiling.MetricCollector):
        def Start(self, dev):
            return 1

        def Stop(self, state):
            return {"odd\0name": "x"}

    report = host_vm.profile("add", 1, 2, collectors=[Odd()])
    assert report.configuration["Collector error: Odd"] == "a metric's name has a NUL character: 'odd\\x00name'"


def test_what_is_no_text_is_a_type_error_that_says_where():
    with pytest.raises(TypeError, match=r"func_names\[1\] must be str, not int"):
        opdyno.load_static_library("none.o", ["f", 1])
    for functions in ({"hypot": None}, {None: "f64(f64, f64)"}, {"hypot": 1}):
        with pytest.raises(TypeError, match="a function's (name|signature) must be str, not (NoneType|int)"):
            opdyno.load_native("libm.so.6", functions)
    with pytest.raises(TypeError, match="compiler must be str, not int"):
        opdyno.load_source("int x;", compiler=1)
