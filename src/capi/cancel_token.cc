// Implements include/opdyno/cancel_token.h.
#include "base/thread_state.h"
#include "capi/handles.h"
#include "capi/requests.h"
#include "vm/vm.h"

using namespace opd;

opd_error *opd_cancel_token_create(opd_cancel_token **out_token) {
  return guard([&] {
    OPD_REQUIRE(out_token);
    *out_token = wrap<opd_cancel_token>(make_object<CancelToken>());
  });
}

void opd_cancel_token_cancel(opd_cancel_token *token) {
  if (token) unwrap<CancelToken>(token)->cancel();
}
void opd_cancel_token_reset(opd_cancel_token *token) {
  if (token) unwrap<CancelToken>(token)->reset();
}
opd_error *opd_cancel_token_set_default(opd_cancel_token *token) {
  return guard([&] { CancelToken::set_default(Ref<CancelToken>::share(unwrap<CancelToken>(token))); });
}
void opd_private_token_set_answer(opd_cancel_token *token, opd_error *(*answer)(void)) {
  auto *asked = unwrap<CancelToken>(token);
  asked->answer = answer;
  asked->answering_thread = thread_number();
}
void opd_private_token_request(opd_cancel_token *token) { unwrap<CancelToken>(token)->request(); }
const char *opd_cancel_token_current_operator(const opd_cancel_token *token) {
  return token ? unwrap<CancelToken>(token)->current_operator() : nullptr;
}
