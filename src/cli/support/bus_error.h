// If a mapped file is cut short, reading it ends the process with SIGBUS. The program then names the file.
#pragma once

namespace opd::cli {

// Called once, before anything is read.
void report_bus_errors();

}  // namespace opd::cli
