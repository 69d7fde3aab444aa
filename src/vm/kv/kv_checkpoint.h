// The header of a sequence's checkpoint in TVM's JSON, so that each runtime reads the other's checkpoints. The rows are
// sent separately, one tensor per layer.
#pragma once
#include <string>
#include <string_view>

#include "vm/kv/kv_config.h"

namespace opd {

// Throws OPD_UNSUPPORTED unless rows of the cache mean the same in another cache: MHA without windows and rope factors.
void require_checkpoints(const KvConfig &config);
// Returns TVM's hash of the layout as 16 digits. If two caches have the same hash, each can store rows of the other.
std::string checkpoint_layout_hash(const KvConfig &config);
std::string checkpoint_metadata(const KvConfig &config, int64_t id, int64_t length);
// Returns the length of the sequence that `metadata` describes. Throws unless the sequence fits into the cache as
// sequence `id`.
int64_t read_checkpoint(const KvConfig &config, int64_t id, std::string_view metadata);

}  // namespace opd
