// The processes of a server's sessions, and those that programs of clients have started.
#pragma once
#include <sys/types.h>

#include <vector>

namespace opd::cli {

// If a descendant loses its parent, it becomes a child of this process.
void adopt_orphans();
std::vector<pid_t> children_of_this_process();  // of its main thread
void end_all_children();                        // and theirs; waits for it

// Takes the code of the program and its library out of this process's memory; what runs again comes back from the
// system's cache of files. Most of what a server runs while it starts, it never runs again.
void forget_code() noexcept;

// In a session: it has no input, and cannot read what is typed at the terminal where the server writes. Faults leave no
// core files.
void detach_session();

}  // namespace opd::cli
