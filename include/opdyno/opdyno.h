/** @file opdyno.h  All of opdyno's C API. */
#ifndef OPDYNO_OPDYNO_H_
#define OPDYNO_OPDYNO_H_

#include <opdyno/arrow.h>
#include <opdyno/base.h>
#include <opdyno/benchmark.h>
#include <opdyno/cancel_token.h>
#include <opdyno/collector.h>
#include <opdyno/compare.h>
#include <opdyno/device.h>
#include <opdyno/device_plugin.h>
#include <opdyno/diff.h>
#include <opdyno/executable.h>
#include <opdyno/executable_builder.h>
#include <opdyno/function.h>
#include <opdyno/kv_state.h>
#include <opdyno/module.h>
#include <opdyno/params.h>
#include <opdyno/profiler.h>
#include <opdyno/replay.h>
#include <opdyno/report.h>
#include <opdyno/roofline.h>
#include <opdyno/rpc.h>
#include <opdyno/rpc_serve.h>
#include <opdyno/telemetry.h>
#include <opdyno/tensor.h>
#include <opdyno/trace.h>
#include <opdyno/value.h>
#include <opdyno/vm.h>

#endif
