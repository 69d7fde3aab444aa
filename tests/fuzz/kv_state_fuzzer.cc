// What a KV state saved, as recordings have it: refused, or a state that is sound and saves the same again.
#include <cstdlib>

#include "support/plain_kv_states.h"

using namespace opd;
using namespace opdyno_test;

namespace {

template <class Action>
void attempt(const Action &action) {
  try {
    action();
  } catch (const Exception &) {}
}

void use(KvState &state) {
  const int64_t id[] = {1}, count[] = {3};
  attempt([&] { state.end_forward(); });
  attempt([&] { state.pop(1, 4); });
  attempt([&] { state.fork_sequence(1, 3, 5); });
  attempt([&] { state.begin_forward(id, count, std::nullopt); });
  attempt([&] { state.cancel_forward(); });
  attempt([&] { state.remove_sequence(1); });
  attempt([&] { state.clear(); });
}

template <class Make>
void restore_and_use(const Make &make, std::string_view bytes) {
  const auto state = make(), again = make();
  try {
    restore(*state, bytes);
  } catch (const Exception &) { return; }
  const std::string once = saved(*state);
  restore(*again, once);
  if (saved(*again) != once) abort();
  use(*state);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
    case 0:
      restore_and_use([] { return make_plain_cache(); }, bytes);
      break;
    case 1:
      restore_and_use([] { return make_plain_cache(48, 4, true); }, bytes);
      break;
    default:
      restore_and_use([] { return make_plain_states(); }, bytes);
  }
  return 0;
}
