// The functions that artifacts expect to find in the process, by name. tvmffi/ fills it; module/ patches artifacts with
// it.
#pragma once
#include <span>
#include <string_view>

namespace opd {

struct ProvidedSymbol {
  const char *name;
  void *address;
};

void provide_symbols(std::span<const ProvidedSymbol> symbols);  // must have static storage
void *provided_symbol(std::string_view name);                   // null if opdyno does not offer it

}  // namespace opd
