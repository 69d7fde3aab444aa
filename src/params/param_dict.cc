// TVM's param dict: names, then tensors in the same order. TVM reads it strictly in sequence and refuses other sizes,
// so there is no room for padding. The position of the tensors follows from the names before them.
#include "params/formats.h"
#include "params/tensor_bytes.h"

namespace opd {

Ref<Params> read_param_dict(Ref<ByteSource> source) {
  const char *what = source->name();
  ByteReader in(source->bytes(), what);
  if (in.read<uint64_t>("param dict magic number") != kParamDictMagic)
    ByteReader(source->bytes(), what).bad("param dict", "does not begin with its magic number");
  in.read<uint64_t>("param dict header");
  std::vector<std::string_view> names(in.read_count(8, "parameter names"));
  for (auto &name : names) name = in.read_string("parameter name");
  const size_t place = in.offset();
  const auto count = in.read<uint64_t>("number of tensors");
  if (count != names.size())
    fail(OPD_BAD_FORMAT, what, ": the number of tensors at offset ", place, " is ", count, ", but there are ",
         names.size(), " names");
  auto params = make_object<Params>();
  for (const auto name : names)
    if (!params->add(name, read_stored_tensor(in, source)))
      in.bad("parameter name", concat("\"", name, "\" occurs twice"));
  if (!in.at_end()) in.bad("end of the param dict", concat("is followed by ", in.remaining(), " more bytes"));
  return params;
}

void write_param_dict(const Params &params, ByteSink &out) {
  ByteWriter head;
  head.write(kParamDictMagic);
  head.write<uint64_t>(0);
  head.write<uint64_t>(params.size());
  for (size_t i = 0; i < params.size(); ++i) head.write_string(params.name(i));
  head.write<uint64_t>(params.size());
  uint64_t size = head.size();
  for (size_t i = 0; i < params.size(); ++i) size += params.bytes(i) + 40 + 8 * params.dims(i).size();
  out.reserve(size);
  out.write(head.take());
  for (size_t i = 0; i < params.size(); ++i) {
    const Ref<Tensor> tensor = on_host(params.tensor(i));
    out.write(tensor_header(tensor->dl));
    write_elements(out, tensor->dl);
  }
}

}  // namespace opd
