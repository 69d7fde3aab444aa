#include "alloc/scenarios.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "support/export_test.h"
#include "support/paths.h"

namespace opdyno_test {
namespace {

// A kernel, a closure, sizes known only while it runs, a tuple, tensors that no call outlives.
const char *const kProgram = R"(
.func main(x) {
  %heap = call vm.builtin.alloc_shape_heap(%vm, 1)
  call vm.builtin.check_tensor_info(%x, 1, dtype(float32), "main")
  call vm.builtin.match_shape(%x, %heap, 1, 1, 0, "main")
  %shape = call vm.builtin.make_shape(%heap, 1, 1, 0)
  %s = call vm.builtin.alloc_storage(%vm, %shape, 0, dtype(float32), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, %shape, dtype(float32))
  call test.alloc.twice(%x, %t)
  %f = call vm.builtin.make_closure(@inner, %t)
  %u = call vm.builtin.invoke_closure(%vm, %f, %x)
  %n = call sum(%u)
  %r = call vm.builtin.make_tuple(%u, %t, %n, "text that is too long for a small string")
  ret %r
}
.func inner(x, y) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  %scratch = call vm.builtin.alloc_storage(%vm, shape(128), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%scratch, 0, shape(4), dtype(float32))
  %b = call vm.builtin.alloc_tensor(%scratch, 64, shape(2, 2), dtype(float32))
  call test.alloc.twice(%y, %a)
  call test.alloc.twice(%a, %b)
  call test.alloc.twice(%b, %t)
  ret %t
})";

opd_error *twice(void *, const opd_value *args, int32_t, opd_value *) {
  for (int i = 0; i < 4; ++i) elements(args[1])[i] = 2 * elements(args[0])[i];
  return nullptr;
}

void define_twice() {
  Function function;
  check(opd_function_create(twice, nullptr, nullptr, function.out()));
  check(opd_function_register("test.alloc.twice", function.get(), 1));
}

// Only files that have been as they are for two seconds are kept for a later load.
void let_settle(const std::string &path) {
  struct stat info {};
  check(stat(path.c_str(), &info) ? opd_error_create(OPD_IO, nullptr, path.c_str()) : nullptr);
  while (time(nullptr) - info.st_ctim.tv_sec <= 2) usleep(50'000);
}

void load(const Inputs &in) {
  Handle<opd_module> module;
  Handle<opd_function> sum;
  Handle<opd_array> names;
  Handle<opd_vm> vm;
  Handle<opd_buffer> json;
  must(opd_module_load(in.library.c_str(), nullptr, module.out()));
  must(opd_module_list_functions(module.get(), names.out()));
  must(opd_module_get_function(module.get(), "sum", 1, sum.out()));
  must(opd_module_to_json(module.get(), json.out()));
  must(opd_vm_create(module.get(), nullptr, vm.out()));
}

void run(const Inputs &in) {
  Handle<opd_vm> vm;
  Handle<opd_buffer> text;
  const opd_value args[] = {arg(in.x)};
  must(opd_vm_create(in.program.get(), nullptr, vm.out()));
  for (int i = 0; i < 2; ++i) {
    Value result;
    must(opd_vm_call(vm.get(), "main", args, 1, nullptr, result.out()));
    must(opd_value_to_string(&result.view(), text.out()));
  }
  must(opd_vm_trim(vm.get()));
}

void profile(const Inputs &in) {
  Handle<opd_collector> memory;
  Handle<opd_report> report;
  Handle<opd_trace> trace;
  Handle<opd_buffer> json;
  const opd_value args[] = {arg(in.x)};
  must(opd_collector_create_builtin(OPD_COLLECTOR_MEMORY, nullptr, memory.out()));
  opd_collector *const collectors[] = {memory.get()};
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.builtins = OPD_BUILTINS_ALL, options.details = 1, options.max_records = 100;
  options.collectors = collectors, options.num_collectors = 1;
  must(opd_vm_profile(in.vm.get(), "main", args, 1, nullptr, &options, report.out(), trace.out()));
  must(opd_trace_write(trace.get(), OPD_TRACE_CHROME, nullptr, json.out()));
  must(opd_vm_profile_start(in.vm.get(), &options));
  Value result;
  opd_error *const failed = opd_vm_call(in.vm.get(), "main", args, 1, nullptr, result.out());
  opd_error *const stopped = opd_vm_profile_stop(in.vm.get(), report.out(), trace.out());
  if (failed) opd_error_release(stopped), must(failed);
  must(stopped);
}

// Events that find no memory are lost, but nothing else is.
void record_memory(const Inputs &in) {
  Handle<opd_profiler> profiler;
  Handle<opd_trace> trace;
  Handle<opd_buffer> text;
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.profile_memory = 1;
  must(opd_profiler_create(&options, profiler.out()));
  must(opd_profiler_start(profiler.get()));
  run(in);
  must(opd_profiler_stop(profiler.get(), trace.out()));
  for (const auto format : {OPD_TRACE_TABLE, OPD_TRACE_PERFETTO, OPD_TRACE_MEMORY_TIMELINE,
                            OPD_TRACE_MEMORY_TIMELINE_RAW, OPD_TRACE_MEMORY_TIMELINE_HTML})
    must(opd_trace_write(trace.get(), format, nullptr, text.out()));
}

void export_module(const Inputs &in) {
  char path[512];
  std::snprintf(path, sizeof path, "%s/again.so", in.scratch.c_str());
  must(opd_module_export(in.program.get(), path, nullptr));
  std::snprintf(path, sizeof path, "%s/program.vmexec", in.scratch.c_str());
  Handle<opd_executable> executable;
  Handle<opd_buffer> bytes, text;
  must(opd_executable_assemble(kProgram, std::strlen(kProgram), executable.out()));
  must(opd_executable_save_bytes(executable.get(), bytes.out()));
  must(opd_executable_load_bytes(opd_buffer_data(bytes.get()), opd_buffer_size(bytes.get()), executable.out()));
  for (const auto format : {OPD_EXECUTABLE_ASSEMBLY, OPD_EXECUTABLE_PYTHON, OPD_EXECUTABLE_JSON, OPD_EXECUTABLE_STATS})
    must(opd_executable_write(executable.get(), format, text.out()));
}

void report(const Inputs &in) {
  Handle<opd_report> one, both;
  Handle<opd_buffer> text;
  Handle<opd_array> values, kinds;
  must(opd_report_from_json(in.report.data(), in.report.size(), one.out()));
  const opd_report *const reports[] = {one.get(), one.get()};
  must(opd_report_merge(reports, 2, both.out()));
  for (const auto format : {OPD_REPORT_JSON, OPD_REPORT_CSV, OPD_REPORT_TABLE, OPD_REPORT_MARKDOWN, OPD_REPORT_HTML})
    must(opd_report_write(both.get(), format, nullptr, text.out()));
  opd_report_write_options summary;
  opd_report_write_options_init(&summary);
  summary.width = 80;
  must(opd_report_write(one.get(), OPD_REPORT_TABLE, &summary, text.out()));
  must(opd_report_get_column(one.get(), OPD_REPORT_CALLS, "Name", values.out(), kinds.out()));
  ArrowArrayStream stream;
  must(opd_report_to_arrow(both.get(), &stream));
  ArrowSchema schema{};
  ArrowArray array{};
  const int described = stream.get_schema(&stream, &schema), given = stream.get_next(&stream, &array);
  if (schema.release) schema.release(&schema);
  if (array.release) array.release(&array);
  stream.release(&stream);
  if (described || given)
    throw Failure{described == ENOMEM || given == ENOMEM ? OPD_OUT_OF_MEMORY : OPD_INTERNAL, "Arrow"};
}

void diff(const Inputs &in) {
  const opd_report *before[6], *after[6];
  for (size_t i = 0; i < 6; ++i) before[i] = in.runs[i].get(), after[i] = in.runs[i + 6].get();
  Handle<opd_report> made;
  Handle<opd_buffer> text;
  must(opd_report_diff(before, 6, after, 6, nullptr, made.out()));
  must(opd_report_write(made.get(), OPD_REPORT_TABLE, nullptr, text.out()));
}

void params(const Inputs &in) {
  Handle<opd_params> set, again;
  Handle<opd_buffer> bytes;
  char path[512];
  for (const char *file :
       {"deflated.npz", "stored.npz", "tvm.params", "library.safetensors", "f32.npy", "tensor-cache"}) {
    std::snprintf(path, sizeof path, "%s/%s", in.params.c_str(), file);
    must(opd_params_open(path, nullptr, set.out()));
    for (int32_t i = 0; i < opd_params_count(set.get()); ++i) {
      Handle<opd_tensor> tensor;
      opd_tensor_info info;
      info.struct_size = sizeof info;
      must(opd_params_get_info(set.get(), i, &info));
      must(opd_params_get(set.get(), info.name, tensor.out()));
    }
  }
  must(opd_params_create(set.out()));
  must(opd_params_set(set.get(), "a tensor with a long name", in.x.get()));
  for (const char *file : {"a.npz", "a.safetensors", "a.params", "tensor-cache.json"}) {
    std::snprintf(path, sizeof path, "%s/%s", in.scratch.c_str(), file);
    must(opd_params_save(set.get(), path));
  }
  must(opd_params_save_bytes(set.get(), bytes.out()));
  must(opd_params_load_bytes(opd_buffer_data(bytes.get()), opd_buffer_size(bytes.get()), again.out()));
}

opd_error *refuse(void *, const opd_value *, int32_t, opd_value *) {
  return opd_error_create(OPD_CALL_FAILED, "KeyError", "a message that is too long for a small string");
}

// Gives a text, and calls its argument, whose error it takes.
opd_error *tell(void *, const opd_value *args, int32_t num_args, opd_value *out) {
  if (num_args == 1)
    if (opd_error *error = opd_function_call(reinterpret_cast<opd_function *>(args[0].u.object), nullptr, 0, nullptr)) {
      const bool expected = opd_error_code(error) == OPD_CALL_FAILED;
      if (!expected) return error;
      opd_error_release(error);
    }
  const char *const text = "a result that is too long for a small string";
  return opd_string_create(text, std::strlen(text), out);
}

opd_error *compare(void *, const opd_value *args, int32_t, opd_value *out) {
  const auto *a = static_cast<const float *>(args[0].u.pointer), *b = static_cast<const float *>(args[1].u.pointer);
  *out = opd_int((*a > *b) - (*a < *b));
  return nullptr;
}

void callback(const Inputs &) {
  Handle<opd_function> teller, refuser, found, sorter, comparer;
  Handle<opd_closure> closure;
  Handle<opd_array> names;
  Value text;
  must(opd_function_create(tell, nullptr, nullptr, teller.out()));
  must(opd_function_create(refuse, nullptr, nullptr, refuser.out()));
  must(opd_function_register("test.alloc.tell", teller.get(), 1));
  must(opd_function_get_global("test.alloc.tell", found.out()));
  const opd_value args[] = {opd_value_of_object(refuser.get())};
  must(opd_function_call(found.get(), args, 1, text.out()));
  must(opd_function_list_global(names.out()));
  must(opd_function_remove_global("test.alloc.tell"));
  must(opd_function_create(compare, nullptr, nullptr, comparer.out()));
  must(opd_closure_create(comparer.get(), "i32(ptr, ptr)", closure.out()));
  must(opd_function_create_native(reinterpret_cast<void *>(&std::qsort), "void(ptr, u64, u64, ptr)", "qsort", nullptr,
                                  sorter.out()));
  float numbers[] = {3, 1, 2};
  const opd_value given[] = {opd_pointer(numbers), opd_int(3), opd_int(4),
                             opd_pointer(opd_closure_pointer(closure.get()))};
  must(opd_function_call(sorter.get(), given, 4, nullptr));
  must(opd_closure_take_error(closure.get()));
}

}  // namespace

const std::vector<Scenario> kScenarios = {
    {"load", load}, {"run", run},       {"profile", profile},   {"export", export_module},       {"report", report},
    {"diff", diff}, {"params", params}, {"callback", callback}, {"record_memory", record_memory}};

Inputs::Inputs() {
  define_twice();
  scratch = scratch_directory();
  library = scratch + "/program.so";
  params = test_data("/params");
  const Module tree = Executable::assemble(kProgram).to_module();
  tree.add_import(source_module(kSumSource));
  check(opd_module_export(tree.get(), library.c_str(), nullptr));
  let_settle(library);
  check(opd_module_load(library.c_str(), nullptr, program.out()));
  vm = Vm(program);
  report = read_bytes(test_data("/report/sample.json"));
  for (int i = 0; i < 12; ++i) {
    Handle<opd_report> one;
    std::string calls = "{\"calls\":[";
    for (const char *name : {"matmul", "softmax"})
      calls += std::string(calls.back() == '[' ? "" : ",") + "{\"Name\":{\"string\":\"" + name +
               "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string((i < 6 ? 100 : 150) + i * 7 % 5) + "}}";
    calls += "]}";
    check(opd_report_from_json(calls.data(), calls.size(), one.out()));
    runs.push_back(std::move(one));
  }
}

}  // namespace opdyno_test
