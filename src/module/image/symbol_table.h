// The functions that artifacts expect in the process, by name. tvmffi/ fills the table; module/ binds artifacts to it.
#pragma once
#include <span>
#include <string_view>

namespace opd {

struct ProvidedSymbol {
  const char *name;
  void *address;
};

void provide_symbols(std::span<const ProvidedSymbol> symbols);  // they must have static storage duration
void *provided_symbol(std::string_view name);                   // null if opdyno does not have it

}  // namespace opd
