// The processes of a server's sessions, and the processes that clients' programs have started.
#pragma once
#include <sys/types.h>

#include <vector>

namespace opd::cli {

// If a descendant loses its parent, it becomes a child of this process.
void adopt_orphans();
std::vector<pid_t> children_of_this_process();  // children of its main thread
void end_all_children();                        // with their children; waits for their end

// Drops the code of the program and its library from this process's memory. Code that runs again is read from the page
// cache. A server never runs most of its starting code again.
void forget_code() noexcept;

// Called in a session: the process gets no input, cannot read what is typed at the server's terminal, and leaves no
// core files.
void detach_session();

}  // namespace opd::cli
