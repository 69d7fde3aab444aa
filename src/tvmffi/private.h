/* Private interface between libopdyno and libopdyno_tvmffi, which belong to one build. */
#pragma once
#include <opdyno/base.h>

#ifdef __cplusplus
extern "C" {
#endif
/* libopdyno's function of that name; NULL if there is none. Its version node is OPDYNO_PRIVATE. */
OPD_API void *opd_private_tvmffi_symbol(const char *name);
#ifdef __cplusplus
}
#endif
