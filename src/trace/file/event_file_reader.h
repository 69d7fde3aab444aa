// Reads files of events: finished ones, files that a process is still writing, and files of killed processes.
#pragma once
#include <string>

#include "trace/file/event_file.h"
#include "trace/model/trace.h"

namespace opd {

// PATH, and PATH.live if it is there. Blocks that are damaged, and events that cannot be, are counted as dropped.
// Throws OPD_NOT_FOUND, OPD_IO, or OPD_BAD_FORMAT if it has no description of the recording.
Ref<Trace> read_event_file(const std::string &path);
TraceParts read_event_file(const EventFile &file);  // one that this process writes

}  // namespace opd
