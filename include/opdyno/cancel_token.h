/** @file cancel_token.h  Cancel tokens: end calls of VMs from outside. */
#ifndef OPDYNO_CANCEL_TOKEN_H_
#define OPDYNO_CANCEL_TOKEN_H_

#include <opdyno/base.h>

OPD_BEGIN_DECLS

/** Ends calls from outside. Thread-safe. */
typedef struct opd_cancel_token opd_cancel_token;
OPD_HANDLE(opd_cancel_token);

/** Makes a token.
 * @param out_token New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY. Threads: safe. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_cancel_token_create(opd_cancel_token **out_token);

/** Cancels all running and future calls that use this token: they return OPD_CANCELLED.
 *
 * A running call stops before its next operator or parallel region. Tasks of a region that have not started are
 * skipped, unless another task waits for them at a barrier. The VM stays usable; the contents of tensors that the
 * kernel was to write are undefined. Threads: safe. Since: 0.2 */
OPD_API void opd_cancel_token_cancel(opd_cancel_token *token);

/** Makes the token usable again after it was cancelled. Threads: safe. Since: 0.2 */
OPD_API void opd_cancel_token_reset(opd_cancel_token *token);

/** Sets the default cancel token of the calling thread. It ends calls of VMs on that thread, also calls with a token of
 * their own. Bindings use this for Ctrl-C.
 * @param token Borrowed; retained until the next one is set or the thread ends. NULL: none.
 * @return NULL, or OPD_FAILED_PRECONDITION inside of a call. Threads: safe; each has its own. Since: 0.2 */
OPD_API OPD_NODISCARD opd_error *opd_cancel_token_set_default(opd_cancel_token *token);

/** Returns the operator that a call with this token is running, for messages about calls that hang.
 * @return Borrowed from the VM of that call; NULL if there is none. Threads: safe. Since: 0.2 */
OPD_API const char *opd_cancel_token_current_operator(const opd_cancel_token *token);

OPD_END_DECLS
#endif
