/* Private interface between libopdyno and bindings of the same build, for languages that run handlers of signals on one
 * thread, where its calls are under way. Its version node is OPDYNO_PRIVATE. */
#pragma once
#include <opdyno/cancel_token.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Makes the calling thread the one that requests of this token ask. Its calls with the token, before their next
 * operator or parallel region, call answer(), which returns NULL if they go on, else the error that ends them (new
 * reference). The token must not be in use. */
OPD_API void opd_private_token_set_answer(opd_cancel_token *token, opd_error *(*answer)(void));
/* Requests an answer, as soon as the thread makes a call with the token or while it does. Threads: safe. */
OPD_API void opd_private_token_request(opd_cancel_token *token);
#ifdef __cplusplus
}
#endif
