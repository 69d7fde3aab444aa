// An embedded module that cannot run: this build lacks its kind, or its bytes cannot be read. It keeps its place in the
// import tree, so that the rest of the library can be used. A failed look-up of a function reports which of the two
// reasons it is.
#pragma once
#include "base/bytes.h"
#include "module/module.h"

namespace opd {

class PlaceholderModule final : public Module {
 public:
  // `damage`: the error in the bytes; "" if none is known.
  PlaceholderModule(std::string kind, Bytes bytes, std::string origin, std::string damage = "");

  const char *kind() const override { return kind_.c_str(); }
  // Throws OPD_UNSUPPORTED for functions whose names are in its bytes.
  Ref<Function> find(std::string_view name) override {
    if (implements(name)) refuse(name);
    return nullptr;
  }
  std::vector<std::string> list() override { return names_; }
  bool implements(std::string_view name) override { return std::ranges::find(names_, name) != names_.end(); }
  std::string source(std::string_view format) override;  // returns the code if it is text
  const char *format() const override { return format_.c_str(); }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE; }
  std::vector<std::string> save_formats() const override {
    if (code_.empty()) return {};
    return {format_};
  }
  std::string save(std::string_view) override { return code_; }
  std::string serialize() override { return bytes_; }
  void describe(JsonWriter &json) override {
    json.key("supported").value(false).key("size_bytes").value(bytes_.size());
  }
  [[noreturn]] void refuse(std::string_view name) const override {
    fail(OPD_UNSUPPORTED, "function \"", name, "\" of ", origin_, names_known_ ? " is" : " may be",
         " in its embedded module of kind ", kind_,
         damage_.empty() ? ", for which this build of opdyno has no back end"
                         : concat(", which cannot be read: ", damage_));
  }
  bool names_known() const override { return names_known_; }

  const std::string &bytes() const { return bytes_; }

 private:
  void read_names();

  std::string kind_, bytes_, origin_, damage_;
  std::string format_, code_;  // from device code, if it could be read
  std::vector<std::string> names_;
  bool names_known_ = false;
};

}  // namespace opd
