// TVM's param dict: names, then tensors in the same order.
#include "params/params.h"
#include "params/tensor_bytes.h"

namespace opd {

Ref<Params> read_param_dict(Bytes bytes, const char *what) {
  ByteReader in(bytes, what);
  if (in.read<uint64_t>("param dict magic number") != kParamDictMagic)
    ByteReader(bytes, what).bad("param dict", "does not begin with its magic number");
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
    if (!params->add(name, read_tensor(in))) in.bad("parameter name", concat("\"", name, "\" occurs twice"));
  if (!in.at_end()) in.bad("end of the param dict", concat("is followed by ", in.remaining(), " more bytes"));
  return params;
}

std::string write_param_dict(const Params &params) {
  ByteWriter out;
  out.write(kParamDictMagic);
  out.write<uint64_t>(0);
  out.write<uint64_t>(params.size());
  for (size_t i = 0; i < params.size(); ++i) out.write_string(params.name(i));
  out.write<uint64_t>(params.size());
  for (size_t i = 0; i < params.size(); ++i) write_tensor(out, on_host(params.tensor(i))->dl);
  return out.take();
}

}  // namespace opd
