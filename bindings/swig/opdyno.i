/* The SWIG interface from which every language's binding is made. It reads the public headers unchanged. The rules
 * state the meaning of the headers' C idioms once for all languages. Each language has its own language.i, which names
 * the module and defines the macros that the rules use; see rules.md. */
%include "language.i"
%include <stdint.i>

%include "optional.i"
%include "handles.i"
%include "errors.i"
%include "values.i"
%include "callbacks.i"
%include "api_rules.i"  /* made by bindings/api: parameters that may be none, functions that block */

%ignore opd_value;
/* Only for the native parts of bindings, which report their language's stack. */
%ignore opd_stack_frame;
%ignore opd_stack_push;
%ignore opd_stack_pop;

%include <opdyno/base.h>
%include <opdyno/value.h>
%include <opdyno/function.h>
%include <opdyno/device.h>
%include <opdyno/device_plugin.h>
%include <opdyno/tensor.h>
%include <opdyno/params.h>
%include <opdyno/module.h>
%include <opdyno/executable.h>
%include <opdyno/executable_builder.h>
%include <opdyno/report.h>
%include <opdyno/collector.h>
%include <opdyno/trace.h>
%include <opdyno/profiler.h>
%include <opdyno/cancel_token.h>
%include <opdyno/vm.h>
%include <opdyno/kv_state.h>
%include <opdyno/benchmark.h>
%include <opdyno/roofline.h>
%include <opdyno/rpc.h>
/* No binding offers a server, so its options are not set. */
%warnfilter(451) opd_rpc_serve_options;
%ignore opd_rpc_serve_options::admit;
%ignore opd_rpc_serve_options::user_data;
%include <opdyno/rpc_serve.h>
%include <opdyno/diff.h>
%include <opdyno/compare.h>
%include <opdyno/replay.h>
%include <opdyno/telemetry.h>
