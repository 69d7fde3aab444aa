// Readers and writers of parameter file formats. A reader checks all headers immediately and reads the elements later.
#pragma once
#include "base/byte_sink.h"
#include "params/params.h"

namespace opd {

struct LoadOptions {
  bool copy = false;              // copies all tensors immediately and closes the file
  bool prefetch = false;          // asks the system to read the file ahead
  bool verify_checksums = false;  // compares all checksums of the format; reads the whole file
};

// `path` is a file, whose content determines the format, or a tensor cache (its directory or its JSON file).
Ref<Params> load_params(const std::string &path, const LoadOptions &options = {});
Ref<Params> load_params(Ref<ByteSource> source, const LoadOptions &options);

// The suffix determines the format: .npz, .safetensors, .npy (exactly one tensor), tensor-cache.json (with shards in
// its directory). For other suffixes, writes a TVM param dict. Files are replaced as a whole.
void save_params(const Params &params, const std::string &path);

void write_param_dict(const Params &params, ByteSink &out);

bool is_npz(Bytes front);
Ref<Params> read_npz(Ref<ByteSource> source, bool verify_checksums);
void write_npz(const Params &params, ByteSink &out);

bool is_safetensors(Bytes front);
Ref<Params> read_safetensors(Ref<ByteSource> source);
void write_safetensors(const Params &params, ByteSink &out);

// `json` is the content of the file at `path`. The shards are in the same directory.
Ref<Params> read_tensor_cache(std::string_view json, const std::string &path, const LoadOptions &options);
void write_tensor_cache(const Params &params, const std::string &path);

}  // namespace opd
