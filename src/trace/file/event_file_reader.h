// Reads files of events: finished ones, files that a process is still writing, and files of killed processes.
#pragma once
#include <string>

#include "trace/file/event_file.h"
#include "trace/model/trace.h"

namespace opd {

// Reads PATH, and PATH.live if it exists. Damaged blocks and invalid events are counted as dropped. Throws
// OPD_NOT_FOUND, OPD_IO, or OPD_BAD_FORMAT if the recording's description is missing.
Ref<Trace> read_event_file(const std::string &path);
TraceParts read_event_file(const EventFile &file);  // reads a file that this process writes

}  // namespace opd
