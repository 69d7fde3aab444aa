// Hash and equality of map keys. They equal those in tvm-ffi's headers, because C++ compiled with these headers and
// this library read each other's maps. Numbers and text are compared by content. Objects are compared by identity
// unless their type has its own functions.
#pragma once
#include "value/value.h"

namespace opd {

uint64_t stable_hash(std::string_view bytes);
uint64_t hash_key(const View &key);  // throws the error of a type's own hash function
bool equal_keys(const View &a, const View &b);

}  // namespace opd
