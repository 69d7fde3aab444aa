// Integers of more than 64 bits: 64-bit words in two's complement, the lowest first, without redundant words.
#include <cstring>

#include "tvmffi/groups.h"
#include "tvmffi/raising.h"

namespace opd {
namespace {

struct BigInt final : Object {  // the words follow inline
  static int32_t type() { return kBigInt; }
  size_t count = 0;
  int64_t *words() { return reinterpret_cast<int64_t *>(this + 1); }
};

int64_t word_at(const char *data, size_t i) {
  int64_t word;
  std::memcpy(&word, data + i * sizeof word, sizeof word);
  return word;
}

extern "C" {

static int TVMFFIBigIntFromByteArray(const ByteArray *bytes, View *out) {
  return raising([&] {
    require(out, "TVMFFIBigIntFromByteArray was given no place for the number");
    const std::string_view text = text_of(bytes, "TVMFFIBigIntFromByteArray");
    require(text.size() % sizeof(int64_t) == 0, "BigInt content must contain whole 64-bit words, but has ", text.size(),
            " bytes");
    size_t count = text.size() / sizeof(int64_t);
    // The highest word is redundant if it only repeats the sign of the next lower one.
    while (count > 1 && word_at(text.data(), count - 1) == word_at(text.data(), count - 2) >> 63) --count;
    if (count <= 1) {
      *out = opd_int(count ? word_at(text.data(), 0) : 0);
      return;
    }
    auto number = make_object_sized<BigInt>(count * sizeof(int64_t));
    number->count = count;
    std::memcpy(number->words(), text.data(), count * sizeof(int64_t));
    *out = Value(std::move(number)).detach();
  });
}

static ByteArray TVMFFIBigIntGetContentByteArray(const View *value) {
  if (value && (value->type == OPD_INT || value->type == OPD_BOOL))
    return {reinterpret_cast<const char *>(&value->u.int64), sizeof(int64_t)};
  ByteArray content;
  raising([&] {
    require(value, "TVMFFIBigIntGetContentByteArray was given NULL");
    auto &number = as<BigInt>(*value, "the number");
    content = {reinterpret_cast<const char *>(number.words()), number.count * sizeof(int64_t)};
  });
  return content;
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> big_int_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIBigIntFromByteArray", address_of(TVMFFIBigIntFromByteArray)},
      {"TVMFFIBigIntGetContentByteArray", address_of(TVMFFIBigIntGetContentByteArray)},
  };
  return symbols;
}

}  // namespace opd
