// Landlock, a feature of the kernel: it restricts the files, ports, sockets and processes that a thread and its
// descendants can reach.
#pragma once
#include <cstdint>
#include <string>

#include "base/text.h"

namespace opd::rpc {

// The version of Landlock's ABI in this kernel. 0: Landlock is not available, and `out_reason` says why.
int landlock_version(std::string &out_reason);

// First ABI versions with a restriction. Version 1 restricts files.
inline constexpr int kLandlockNetwork = 4, kLandlockScopes = 6;

class Landlock {
 public:
  enum Access { kList, kRead, kExecute, kDevice, kOwn };  // all but kList allow reading, too

  Landlock(int version, bool network);  // `network`: TCP stays allowed
  ~Landlock();
  Landlock(const Landlock &) = delete;

  // Allows the access to a file, or to a directory with everything in it. False: the path does not exist, or this user
  // cannot reach it.
  bool allow(const std::string &path, Access access);
  void enter();  // restricts the calling thread for good; needs no_new_privs

 private:
  const int version_;
  int rules_ = -1;
};

}  // namespace opd::rpc
