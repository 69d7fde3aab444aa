// Reads elements of any dtype as numbers, a block at a time, so that loops that compare numbers need no dtypes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "value/dtype.h"

namespace opd {

// Whether elements of the dtype can be read as numbers. Others (float8, int4, handles) are compared as bits.
bool has_numbers(DLDataType dtype);
bool is_real(DLDataType dtype);            // floating point or complex: results may be rounded
uint64_t numbers_per_element(DLDataType);  // lanes; twice as many for complex types

// Reads `count` numbers from number `first` on. The result is exact, because long double has the 64 bits of the widest
// integers. `data` may be unaligned. Requires has_numbers().
void read_numbers(const char *data, DLDataType dtype, uint64_t first, size_t count, double *out);
void read_integers(const char *data, DLDataType dtype, uint64_t first, size_t count, long double *out);

// Rounds to nearest even, as hardware does. Requires a floating point dtype with has_numbers().
void write_reals(const double *numbers, size_t count, DLDataType dtype, uint64_t first, char *data);

}  // namespace opd
