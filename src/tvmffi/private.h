/* Private interface between libopdyno and libopdyno_tvmffi, which belong to one build. */
#pragma once
#include <opdyno/base.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Returns libopdyno's function with a name; NULL if there is none. Version node: OPDYNO_PRIVATE. */
OPD_API void *opd_private_tvmffi_symbol(const char *name);
#ifdef __cplusplus
}
#endif
