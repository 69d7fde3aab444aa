// Elements of any dtype as numbers, a block at a time: converting first keeps the loops that compare free of types.
#pragma once
#include <cstddef>
#include <cstdint>

#include "value/dtype.h"

namespace opd {

// Whether elements of the dtype can be read as numbers. Others (float8, int4, handles) are compared as bits.
bool has_numbers(DLDataType dtype);
bool is_real(DLDataType dtype);            // floating point or complex: rounding is to be expected
uint64_t numbers_per_element(DLDataType);  // lanes, and two for each complex one

// Reads `count` numbers from number `first` on. Exact: long double has the 64 bits of the widest integers. `data` may
// be unaligned. Only if has_numbers().
void read_numbers(const char *data, DLDataType dtype, uint64_t first, size_t count, double *out);
void read_integers(const char *data, DLDataType dtype, uint64_t first, size_t count, long double *out);

// Rounds to nearest even, as a conversion in hardware does. Only for floating point dtypes that has_numbers().
void write_reals(const double *numbers, size_t count, DLDataType dtype, uint64_t first, char *data);

}  // namespace opd
