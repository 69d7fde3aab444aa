// What the library logs while the object lives, on whichever thread.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "opdyno/base.h"

namespace opdyno_test {

class LogMessages {
 public:
  struct Message {
    opd_log_level level;
    std::string text;
  };

  LogMessages() { opd_log_set_callback(keep, this, nullptr); }
  LogMessages(const LogMessages &) = delete;
  ~LogMessages() { opd_log_set_callback(nullptr, nullptr, nullptr); }

  std::vector<Message> all() const {
    const std::scoped_lock lock(guard_);
    return all_;
  }
  /** All messages, a line each. */
  std::string text() const {
    std::string lines;
    for (const Message &message : all()) lines += message.text + "\n";
    return lines;
  }

 private:
  static void keep(void *self, opd_log_level level, const char *text) {
    auto &messages = *static_cast<LogMessages *>(self);
    const std::scoped_lock lock(messages.guard_);
    messages.all_.push_back({level, text});
  }

  mutable std::mutex guard_;  // the library calls `keep` on several threads at the same time
  std::vector<Message> all_;
};

}  // namespace opdyno_test
