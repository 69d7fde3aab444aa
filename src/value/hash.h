// Hash and equality of keys, the same as in C++ that was compiled with tvm-ffi's headers: both sides read one another's
// maps. Numbers and text by content, objects by identity unless their type says otherwise.
#pragma once
#include "value/value.h"

namespace opd {

uint64_t stable_hash(std::string_view bytes);
uint64_t hash_key(const View &key);  // throws what a type's own hash raises
bool equal_keys(const View &a, const View &b);

}  // namespace opd
