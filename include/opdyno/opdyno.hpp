/** @file opdyno.hpp  A thin C++17 wrapper of the C API: handles that release themselves, errors as exceptions.
 *
 * Everything here is inline and only calls the C API, so it adds nothing to the ABI. Each header X.hpp may be included
 * alone. There is no class for executable_builder.h, which is experimental: Handle<opd_executable_builder> owns one.
 */
#ifndef OPDYNO_OPDYNO_HPP_
#define OPDYNO_OPDYNO_HPP_

#include <opdyno/opdyno.h>

#include <opdyno/benchmark.hpp>
#include <opdyno/kv_state.hpp>
#include <opdyno/module.hpp>
#include <opdyno/params.hpp>
#include <opdyno/profiler.hpp>
#include <opdyno/report.hpp>
#include <opdyno/rpc.hpp>
#include <opdyno/telemetry.hpp>
#include <opdyno/vm.hpp>

#endif
