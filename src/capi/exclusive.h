/* Between libopdyno and the bindings of the same build whose language collects cycles; no part of the interface. Its
 * version node is OPDYNO_PRIVATE. */
#pragma once
#include <opdyno/function.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Finds the functions made of callback `fn` that would end if the caller gave up the references `roots`: those that
 * nothing else keeps alive. Calls visit() once for each with its user_data. Every item of `roots` is an object of which
 * the caller owns one reference; NULL is skipped. The caller sees to it that no call runs meanwhile. */
OPD_API void opd_private_visit_exclusive(opd_packed_fn fn, void *const *roots, size_t num_roots,
                                         void (*visit)(void *user_data, void *context), void *context);
#ifdef __cplusplus
}
#endif
