// The directories of a server's sessions. The server removes them, because a session in a sandbox cannot remove its
// own.
#pragma once
#include <cstdint>
#include <string>

#include "cli/support/file.h"

namespace opd::cli {

class SessionFolders {
 public:
  // `user`: owner of the directories; "": the server's user. Removes the directories of servers that were killed.
  explicit SessionFolders(const std::string &user);
  ~SessionFolders();
  SessionFolders(const SessionFolders &) = delete;

  std::string make(int64_t session);
  void remove(int64_t session);
  // The size on disk of all files of the session. Counts up to about `most`. UINT64_MAX: the session hides files.
  uint64_t bytes_of(int64_t session, uint64_t most) const;
  void forget() { lock_.reset(); }  // in a child: only the server holds the lock

 private:
  std::string path_of(int64_t session) const;

  const std::string user_;
  std::string path_;
  Descriptor lock_;  // on the directory, as long as the server lives
};

}  // namespace opd::cli
