// Saves the tensors around the first difference as files for NumPy: DIR/a.npz and DIR/b.npz.
#include <filesystem>

#include "compare/comparison.h"
#include "device/device.h"
#include "params/formats.h"

namespace opd {

class TensorSaver {
 public:
  explicit TensorSaver(const Comparison &of) : of_(of) {}

  void save() const {
    std::error_code error;
    const std::string &directory = of_.options_.save_directory;
    std::filesystem::create_directories(directory, error);
    if (error) fail(OPD_IO, directory, ": cannot make this directory: ", error.message());
    const FirstDifference &first = of_.first_;
    save_side(of_.a_, first.a_causes, first.a, first.a_value, directory + "/a.npz");
    save_side(of_.b_, first.b_causes, first.b, first.b_value, directory + "/b.npz");
  }

 private:
  static void save_side(const RecordedRun &run, const std::vector<size_t> &causes, int32_t call, uint32_t value,
                        const std::string &path) {
    const Ref<Params> params = make_object<Params>();
    for (const size_t cause : causes) add_call(*params, run, cause);
    if (call == CallMatching::kNone) add(*params, "result", run.contents(value));
    else add_call(*params, run, static_cast<size_t>(call));
    save_params(*params, path);
  }

  // Names are "softmax1/input_0", "softmax1/output_1", with the index of the argument.
  static void add_call(Params &params, const RecordedRun &run, size_t number) {
    const RecordedCall &call = run.calls[number];
    std::string name = call.name;
    if (call.occurrence) name += concat("#", call.occurrence + 1);
    for (size_t i = 0; i < call.slots.size(); ++i) {
      const CallTensor &slot = call.slots[i];
      if (slot.before != kNoValue) add(params, concat(name, "/input_", i), run.contents(slot.before));
      if (slot.is_written) add(params, concat(name, "/output_", i), run.contents(slot.after));
    }
  }

  static void add(Params &params, const std::string &name, const Contents &contents) {
    Ref<Tensor> copy;
    const std::string_view bytes = elements_of(contents, copy);
    if (!bytes.data()) return;  // it was not kept; the report has a note
    Ref<Tensor> tensor = make_tensor(contents.dims, contents.dtype, kHost);
    if (!bytes.empty()) copy_from_bytes(tensor->dl, bytes.data(), bytes.size());
    params.add(name, std::move(tensor));
  }

  const Comparison &of_;
};

void Comparison::save() const {
  if (!options_.save_directory.empty() && first_.is_found) TensorSaver(*this).save();
}

}  // namespace opd
