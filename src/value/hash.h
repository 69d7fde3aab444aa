// Hash and equality of map keys, the same as in tvm-ffi's headers: C++ compiled with these and this library read one
// another's maps. Numbers and text are compared by content, objects by identity unless their type has functions for
// this.
#pragma once
#include "value/value.h"

namespace opd {

uint64_t stable_hash(std::string_view bytes);
uint64_t hash_key(const View &key);  // throws the error that a type's own hash raises
bool equal_keys(const View &a, const View &b);

}  // namespace opd
