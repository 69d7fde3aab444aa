#include "vm/instrument.h"

#include <opdyno/vm.h>

namespace opd {
namespace {

Value show(Run &run, const View &callee, const std::string &name, bool before, const View &result, Args args) {
  constexpr size_t kFixed = 4, kFew = 12;
  View few[kFixed + kFew];
  std::vector<View> many;
  View *all = few;
  if (args.size() > kFew) many.resize(kFixed + args.size()), all = many.data();
  all[0] = callee;
  all[1] = opd_cstring(name.c_str());
  all[2] = opd_bool(before);
  all[3] = result;
  std::copy(args.begin(), args.end(), all + kFixed);
  struct Showing {
    Run &run;
    explicit Showing(Run &r) : run(r) { run.showing = true; }
    ~Showing() { run.showing = false; }
  } showing(run);
  return call(*run.instrument, {all, kFixed + args.size()});
}

}  // namespace

bool instrument_before(Run &run, const View &callee, const std::string &name, Args args) {
  const Value answer = show(run, callee, name, true, opd_none(), args);
  return answer.view().type != OPD_INT || answer.view().u.int64 != OPD_INSTRUMENT_SKIP_RUN;
}

void instrument_after(Run &run, const View &callee, const std::string &name, const View &result, Args args) {
  show(run, callee, name, false, result, args);
}

}  // namespace opd
