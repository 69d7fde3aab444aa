#include "vm/instrument.h"

#include <opdyno/vm.h>

namespace opd {
namespace {

// Whether the instrument answers SKIP_RUN.
bool show(Run &run, Args shown) {
  struct Showing {
    Run &run;
    explicit Showing(Run &r) : run(r) { run.showing = true; }
    ~Showing() { run.showing = false; }
  } showing(run);
  // Only single fields of the answer are read, because a 16-byte load right after smaller stores waits for them.
  View answer = opd_none();
  if (run.instrument->safe_call(run.instrument, shown.data(), static_cast<int32_t>(shown.size()), &answer)) [[unlikely]]
    throw Exception(take_raised());
  if (is_object(answer)) [[unlikely]]
    release(object_of(answer));
  return answer.type == OPD_INT && answer.u.int64 == OPD_INSTRUMENT_SKIP_RUN;
}

}  // namespace

bool instrument_before(Run &run, std::span<View> shown) {
  shown[2] = opd_bool(true);
  shown[3] = opd_none();
  return !show(run, shown);
}

void instrument_after(Run &run, std::span<View> shown, const View &result) {
  shown[2] = opd_bool(false);
  shown[3] = result;
  show(run, shown);
}

}  // namespace opd
