/* Private interface between libopdyno and bindings of the same build, for languages whose garbage collector finds
 * cycles. Version node: OPDYNO_PRIVATE. */
#pragma once
#include <opdyno/function.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Finds the functions of callback `fn` that only the references `roots` keep alive. Calls visit() once for each, with
 * its user_data. Each item of `roots` is NULL, which is skipped, or an object of which the caller owns one reference.
 * The caller must make sure that no call runs until this function returns. */
OPD_API void opd_private_visit_exclusive(opd_packed_fn fn, void *const *roots, size_t num_roots,
                                         void (*visit)(void *user_data, void *context), void *context);
#ifdef __cplusplus
}
#endif
