/* Private interface between libopdyno and bindings of the same build, for languages that run signal handlers on one
 * thread, which may be in a call of this library. Version node: OPDYNO_PRIVATE. */
#pragma once
#include <opdyno/cancel_token.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Makes the calling thread answer requests of this token. After a request, the thread's calls with the token call
 * answer() before their next operator or parallel region. If answer() returns NULL, the call goes on. Otherwise it
 * returns the error that ends the call (new reference). The token must not be in use. */
OPD_API void opd_private_token_set_answer(opd_cancel_token *token, opd_error *(*answer)(void));
/* Requests an answer during the thread's current call with the token, or else during its next one. Threads: safe. */
OPD_API void opd_private_token_request(opd_cancel_token *token);
#ifdef __cplusplus
}
#endif
