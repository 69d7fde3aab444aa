#include "rpc/wire/objects.h"

namespace opd::rpc {
namespace {

constexpr size_t kMostObjects = 1 << 20;

[[noreturn]] void fail_number(uint64_t number) {
  fail(OPD_INVALID_ARGUMENT, "the session has no object number ", number, ", or the client has freed it");
}

}  // namespace

uint64_t Objects::add(Value value) {
  if (values_.size() >= kMostObjects)
    fail(OPD_OUT_OF_MEMORY, "a session keeps at most ", kMostObjects, " objects; the client frees too few");
  values_.emplace(++last_, std::move(value));
  return last_;
}

const Value &Objects::find(uint64_t number) const {
  const auto found = values_.find(number);
  if (found == values_.end()) fail_number(number);
  return found->second;
}

void Objects::remove(uint64_t number) {
  if (!values_.erase(number)) fail_number(number);
}

}  // namespace opd::rpc
