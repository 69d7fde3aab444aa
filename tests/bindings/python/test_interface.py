"""Tests that the package has the names of TVM's runtime by module and class, and the signatures of some of them. Other
files test their behaviour."""

import inspect

import pytest

import opdyno
import opdyno.profiler
import opdyno.profiling
import opdyno.vm

# f: function, c: class, m: method, s: class or static method, p: property, i: attribute of the instance, v: value.
NAMES = {
    "opdyno": """
        f:register_func f:register_global_func f:get_global_func f:list_global_func_names f:remove_global_func
        c:Function c:PackedFunc c:Object c:ObjectGeneric c:String c:Shape c:ShapeTuple c:Array c:Map c:KVState
        c:ObjectPath c:ObjectPathPair f:structural_equal f:get_first_structural_mismatch
        f:convert f:convert_to_object f:const c:DataType c:DataTypeCode
        c:Device f:device f:cpu f:cuda f:gpu f:opencl f:cl f:vulkan f:metal f:mtl f:vpi f:rocm f:ext_dev
        c:Module c:ModulePropertyMask f:load_module f:enabled f:system_lib f:load_static_library f:load_source f:load_native
        f:save_param_dict f:load_param_dict f:save_param_dict_to_file f:load_param_dict_from_file c:Params f:load_params
        c:Tensor c:NDArray f:tensor f:array f:empty f:from_dlpack f:reads_only
        f:num_threads f:set_num_threads f:memory_stats f:reset_peak_memory_stats f:empty_cache f:build_info f:set_log_callback
        c:Error c:Code
        c:Report c:BenchmarkResult c:BenchmarkStats c:KVStats c:MemoryStats c:ParamsStats c:TensorInfo c:VirtualMachine c:Executable c:VMInstrumentReturnKind c:Cancel
        f:compare c:Comparison f:replay c:Replayed v:vm v:profiling v:profiler v:runtime v:relax v:__version__
    """,
    "opdyno.vm": "c:VirtualMachine c:Executable c:VMFunction c:VMInstrumentReturnKind c:BenchmarkResult c:Cancel",
    "opdyno.profiler": "c:profile c:record_function",
    "opdyno.profiler.profile": "m:start m:stop m:export_chrome_trace p:trace",
    "opdyno.profiler.record_function": "i:name",
    "opdyno.profiling": """
        c:Report c:Trace c:Profiling c:MachinePeak f:measure_peak c:Count c:Duration c:Percent c:Ratio c:Bytes c:Hertz
        c:Diff f:diff f:merge f:profile_function c:DeviceWrapper c:MetricCollector c:TimeMetricCollector
        c:MemoryMetricCollector c:PAPIMetricCollector c:PerfMetricCollector c:EnergyMetricCollector
        c:NVMLMetricCollector c:DeviceMetricCollector
    """,
    "opdyno.Function": "m:__call__ m:same_as s:from_pointer",
    "opdyno.Object": "m:same_as",
    "opdyno.ObjectGeneric": "m:asobject",
    "opdyno.ObjectPath": """
        s:root m:attr m:array_index m:missing_array_element m:map_value m:missing_map_entry m:get_prefix m:is_prefix_of
        i:parent i:kind i:key
    """,
    "opdyno.ObjectPathPair": "i:lhs_path i:rhs_path",
    "opdyno.DataType": "i:type_code i:bits i:lanes p:itemsize",
    "opdyno.DataTypeCode": "v:INT v:UINT v:FLOAT v:HANDLE v:BFLOAT v:COMPLEX v:BOOL",
    "opdyno.Device": """
        i:device_type i:device_id p:type p:index
        p:exist p:max_threads_per_block p:warp_size p:max_shared_memory_per_block p:compute_version p:device_name
        p:max_clock_rate p:multi_processor_count p:max_thread_dimensions p:api_version p:driver_version
        p:total_global_memory p:available_global_memory p:l2_cache_size_bytes
        m:texture_spatial_limit m:create_raw_stream m:free_raw_stream m:set_raw_stream m:sync
    """,
    "opdyno.Module": """
        p:entry_func p:type_key p:kind p:format p:imported_modules p:imports p:is_dso_exportable
        m:is_compilation_exportable m:is_binary_serializable m:is_runnable m:implements_function m:get_function m:__getitem__
        m:__call__ m:import_module m:get_source m:inspect_source m:save m:write_to_file m:time_evaluator m:export_library
        m:get_write_formats m:get_property_mask p:property_mask m:function_names m:native_function m:describe
    """,
    "opdyno.Tensor": """
        p:shape p:strides p:dtype p:device p:ndim p:nbytes p:size m:numpy m:asnumpy m:view m:copyto m:copyfrom m:reshape
        m:is_contiguous m:tobytes m:same_as m:__dlpack__ m:__dlpack_device__
    """,
    "opdyno.Params": "m:keys m:items m:values m:get m:info m:save p:stats",
    "opdyno.Error": "v:code v:kind v:native_cause v:native_backtrace",
    "opdyno.BenchmarkResult": "p:results p:mean p:median p:std p:min p:max p:stats m:percentile m:diff",
    "opdyno.vm.VirtualMachine": """
        v:NAIVE_ALLOCATOR v:POOLED_ALLOCATOR m:__getitem__ m:invoke_closure m:save_function m:set_input
        m:set_input_with_param_module m:invoke_stateful m:get_outputs m:get_output_arity m:set_instrument m:time_evaluator
        m:profile m:profile_with_trace m:profiling m:call m:function m:has_function m:function_names m:parameter_names m:trim
    """,
    "opdyno.vm.Executable": "s:load_bytes s:assemble m:save_bytes m:as_text m:as_python m:stats m:jit m:to_module m:describe",
    "opdyno.vm.VMFunction": "p:name p:vm m:__call__",
    "opdyno.vm.VMInstrumentReturnKind": "v:NO_OP v:SKIP_RUN",
    "opdyno.vm.Cancel": "m:cancel m:reset p:current_operator",
    "opdyno.profiling.Report": "p:calls p:device_metrics p:configuration m:csv m:table m:json s:from_json m:_repr_html_ m:with_roofline",
    "opdyno.profiling.Trace": "m:chrome p:dropped",
    "opdyno.profiling.Profiling": "m:start m:stop p:report p:trace",
    "opdyno.profiling.MetricCollector": "m:Init m:Start m:Stop",
    "opdyno.profiling.DeviceWrapper": "p:device_type p:device_id v:device",
    "opdyno.profiling.Diff": "p:verdict p:report m:runs_needed",
    "opdyno.profiling.Bytes": "i:value",
    "opdyno.profiling.Hertz": "i:hertz",
    "opdyno.profiling.Count": "i:value",
    "opdyno.profiling.Duration": "i:microseconds",
    "opdyno.profiling.Percent": "i:percent",
    "opdyno.profiling.Ratio": "i:ratio",
}

# Positional parameters with their defaults, in the order that TVM's users know.
SIGNATURES = {
    "opdyno.register_func": "name f=None override=False",
    "opdyno.get_global_func": "name allow_missing=False",
    "opdyno.convert": "value span=None",
    "opdyno.convert_to_object": "value span=None",
    "opdyno.const": "value dtype=None span=None",
    "opdyno.tensor": "array device=None mem_scope=None",
    "opdyno.load_static_library": "path func_names",
    "opdyno.DataType.__new__": "cls type_str",
    "opdyno.system_lib": "prefix=''",
    "opdyno.enabled": "target",
    "opdyno.Device.sync": "self stream=None",
    "opdyno.Module.implements_function": "self name query_imports=False",
    "opdyno.Module.get_function": "self name query_imports=False",
    "opdyno.Module.get_source": "self fmt=''",
    "opdyno.Module.save": "self file_name fmt=''",
    "opdyno.Module.export_library": "self file_name fcompile=None addons=None workspace_dir=None",
    "opdyno.Module.time_evaluator": "self func_name dev=None number=10 repeat=1 min_repeat_ms=0 limit_zero_time_iterations=100 "
    "cooldown_interval_ms=0 repeats_to_cooldown=1 cache_flush_bytes=0 f_preproc=''",
    "opdyno.vm.VirtualMachine.time_evaluator": "self func_name dev=None number=10 repeat=1 min_repeat_ms=0 "
    "cooldown_interval_ms=0 repeats_to_cooldown=1 f_preproc=''",
    "opdyno.vm.VirtualMachine.__new__": "cls rt_mod device=None memory_cfg=None profile=False",
    "opdyno.vm.VirtualMachine.invoke_closure": "self closure",
    "opdyno.vm.VirtualMachine.set_instrument": "self instrument",
    "opdyno.profiling.Report.__new__": "cls calls device_metrics configuration",
    "opdyno.profiling.Report.table": "self sort=True aggregate=True col_sums=True",
}


def found(path):
    value = opdyno
    for name in path.split(".")[1:]:
        value = getattr(value, name)
    return value


def is_of(kind, where, name):
    value, static = getattr(where, name), inspect.getattr_static(where, name)
    is_of_class = isinstance(static, (classmethod, staticmethod))
    return {
        "f": inspect.isfunction(value),
        "c": inspect.isclass(value),
        "m": callable(value) and not inspect.isclass(value) and not is_of_class,
        "s": is_of_class,
        "p": inspect.isdatadescriptor(static),
        "i": inspect.isdatadescriptor(static) or not callable(value),
        "v": not callable(value),
    }[kind]


@pytest.mark.parametrize("owner", NAMES)
def test_every_name_is_there_and_described(owner):
    where, problems = found(owner), []
    for kind, name in (one.split(":") for one in NAMES[owner].split()):
        if kind == "i" and name in getattr(where, "__annotations__", ()):
            continue  # only instances have it
        if not hasattr(where, name):
            problems.append(f"there is no {name}")
        elif not is_of(kind, where, name):
            problems.append(f"{name} is a {type(getattr(where, name)).__name__}")
        elif kind in "fcmsp" and not inspect.getdoc(getattr(where, name)):
            problems.append(f"{name} says nothing of itself")
    assert problems == []


@pytest.mark.parametrize("path", SIGNATURES)
def test_parameters_have_their_places_and_defaults(path):
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(found(path)).parameters.values() if p.kind in by_position
    ]
    assert " ".join(given) == SIGNATURES[path]


@pytest.mark.parametrize("module", [opdyno, opdyno.vm, opdyno.profiling, opdyno.tvm])
def test_a_module_offers_what_it_lists_and_says_what_it_is(module):
    assert module.__doc__ and len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        assert inspect.ismodule(value) or not value.__module__.startswith("opdyno._"), f"{name} is named {value.__module__}"


@pytest.mark.parametrize("owner", [owner for owner in NAMES if inspect.isclass(found(owner))])
def test_every_public_member_of_a_class_is_described(owner):
    where = found(owner)
    silent = [
        name for name, member in vars(where).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod)))
        and not inspect.getdoc(getattr(where, name))
    ]
    assert silent == []


def test_the_names_are_all_that_there_is():
    listed = {one.split(":")[1] for one in NAMES["opdyno"].split()} - {"__version__"}
    assert listed == set(opdyno.__all__)
    assert {one.split(":")[1] for one in NAMES["opdyno.vm"].split()} == set(opdyno.vm.__all__)
    assert {one.split(":")[1] for one in NAMES["opdyno.profiling"].split()} == set(opdyno.profiling.__all__)


def test_help_shows_no_private_names():
    import pydoc

    for module in (opdyno, opdyno.vm, opdyno.profiling):
        text = pydoc.plain(pydoc.render_doc(module)).split("\nCLASSES\n")[1]
        text = text.split("\nFILE\n")[0]
        for base in ("opdyno._native.", "opdyno._frozen.", "opdyno._outcome."):  # base classes
            text = text.replace(base, "")
        assert "opdyno._" not in text
        assert "_address" not in text and "_watch_signals" not in text
