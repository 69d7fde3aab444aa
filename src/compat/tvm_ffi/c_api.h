// Declares the C functions of this library that its global functions use.
#pragma once
#include <cstdint>

#include "tvmffi/private.h"

extern "C" {
void TVMFFIErrorSetRaised(void *error);
void TVMFFIErrorMoveFromRaised(void **out);
int TVMFFIFunctionCreate(void *self, void *call, void (*end)(void *), void **out);
int TVMFFIFunctionSetGlobalFromMethodInfo(const void *method, int again);
int32_t TVMFFITypeGetOrAllocIndex(const void *key, int32_t index, int32_t depth, int32_t slots, int32_t overflow,
                                  int32_t parent);
int TVMFFITypeRegisterField(int32_t type, const void *field);
int TVMFFITypeRegisterMethod(int32_t type, const void *method);
int TVMFFITypeRegisterMetadata(int32_t type, const void *metadata);
int TVMFFITypeRegisterAttr(int32_t type, const void *name, const void *value);
const void *TVMFFIGetTypeAttrColumn(const void *name);
}
