// The header of a sequence's checkpoint: TVM's JSON, so that either runtime reads the other's checkpoints. The
// rows travel beside it, a tensor for each layer.
#pragma once
#include <string>
#include <string_view>

#include "vm/kv/kv_config.h"

namespace opd {

// Throws OPD_UNSUPPORTED unless rows of the cache mean the same elsewhere: MHA without windows and rope factors.
void require_checkpoints(const KvConfig &config);
// 16 digits: TVM's hash of the layout. If two caches have the same hash, rows of one can be stored in the other.
std::string checkpoint_layout_hash(const KvConfig &config);
std::string checkpoint_metadata(const KvConfig &config, int64_t id, int64_t length);
// The length of the sequence that `metadata` describes. Throws unless it fits a sequence `id` of the cache.
int64_t read_checkpoint(const KvConfig &config, int64_t id, std::string_view metadata);

}  // namespace opd
