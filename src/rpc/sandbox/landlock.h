// Landlock: the files, ports, sockets and processes that this thread and all that it starts may reach, as the kernel
// keeps it.
#pragma once
#include <cstdint>
#include <string>

#include "base/text.h"

namespace opd::rpc {

// The version of Landlock's ABI in this kernel. 0: none, and `out_reason` is the reason.
int landlock_version(std::string &out_reason);

// First versions that have a restriction. Version 1 has that of files.
inline constexpr int kLandlockNetwork = 4, kLandlockScopes = 6;

class Landlock {
 public:
  enum Access { kList, kRead, kExecute, kDevice, kOwn };  // each but the first two allows what the one before it does

  Landlock(int version, bool network);  // `network`: TCP stays allowed
  ~Landlock();
  Landlock(const Landlock &) = delete;

  // Allows that for a file, or for a directory and all in it. False: it is not there, or this user cannot reach it.
  bool allow(const std::string &path, Access access);
  void enter();  // the thread; it needs no_new_privs. Cannot be undone

 private:
  const int version_;
  int rules_ = -1;
};

}  // namespace opd::rpc
