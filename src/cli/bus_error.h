// A file that is mapped into memory and cut short meanwhile ends the process with SIGBUS: the program says which.
#pragma once

namespace opd::cli {

// To be called once, before anything is read.
void report_bus_errors();

}  // namespace opd::cli
