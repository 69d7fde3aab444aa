// ffi.reflection.AccessPath: the path to a part of an object, step by step from the root.
#include "compat/tvm_ffi/describe.h"
#include "value/hash.h"

namespace opd {
namespace {

struct AccessStep final : Object {
  enum Kind : int32_t { kAttribute, kItem, kEntry, kMissing };  // kMissing is appended after other steps
  static int32_t type() { return registered_type<"ffi.reflection.AccessStep">(); }
  int32_t kind = 0;
  Value key;
};

struct AccessPath final : Object {
  static int32_t type() { return registered_type<"ffi.reflection.AccessPath">(); }
  Ref<AccessPath> parent;
  Ref<AccessStep> step;
  int32_t depth = 0;
};

AccessPath &path_at(const View &v) { return as<AccessPath>(v, "the path"); }

Value extend(const View &path, Ref<AccessStep> step) {
  auto longer = make_object<AccessPath>();
  longer->parent = Ref<AccessPath>::share(&path_at(path));
  longer->step = std::move(step);
  longer->depth = longer->parent->depth + 1;
  return longer;
}

// Compares two paths of the same depth.
bool same_path(const AccessPath *a, const AccessPath *b) {
  for (; a != b && a->depth; a = a->parent.get(), b = b->parent.get())
    if (a->step->kind != b->step->kind || !equal_keys(a->step->key, b->step->key)) return false;
  return true;
}

Value is_prefix(Args args) {
  const AccessPath *path = &path_at(args[0]), *longer = &path_at(args[1]);
  while (longer->depth > path->depth) longer = longer->parent.get();
  return longer->depth == path->depth && same_path(path, longer);
}

Value path_equal(Args args) {
  return path_at(args[0]).depth == path_at(args[1]).depth && same_path(&path_at(args[0]), &path_at(args[1]));
}

Value steps_of(Args args) {
  std::vector<Value> steps(static_cast<size_t>(path_at(args[0]).depth));
  const AccessPath *path = &path_at(args[0]);
  for (size_t i = steps.size(); i-- > 0; path = path->parent.get()) steps[i] = Value(path->step);
  return Array::make(views_of(steps));
}

// The second argument is the function that prints a part.
std::string show(const Value &part, const View &show_part) {
  return text_argument(call(as<Function>(show_part, "the repr of a part"), {&part.view(), 1}), "a repr");
}

Value repr_of_step(Args args) {
  const auto &step = as<AccessStep>(args[0], "the step");
  switch (step.kind) {
    case AccessStep::kAttribute:
      return concat(".", as_text(step.key, "an attribute's name"));
    case AccessStep::kItem:
    case AccessStep::kEntry:
      return concat("[", show(step.key, args[1]), "]");
    default:
      return concat("[<missing:", show(step.key, args[1]), ">]");
  }
}

Value repr_of_path(Args args) {
  const Value steps = steps_of(args);
  std::string text = "<root>";
  for (const Value &step : std::span(as<Array>(steps, "").items(), as<Array>(steps, "").size()))
    text += show(step, args[1]);
  return text;
}

}  // namespace

void define_access_paths() {
  static const TypeDescription<AccessStep> step(kConstantTree);
  step.field<&AccessStep::kind>("kind").template field<&AccessStep::key>("key");
  step.attribute("__ffi_repr__", 2, repr_of_step);

  static const TypeDescription<AccessPath> path(kConstantTree);
  path.field<&AccessPath::parent>("parent")
      .template field<&AccessPath::step>("step", R"({"type":"Optional","args":[{"type":"ffi.reflection.AccessStep"}]})")
      .template field<&AccessPath::depth>("depth");
  path.attribute("__ffi_repr__", 2, repr_of_path);
  constexpr const char *kPath = "ffi.reflection.AccessPath", *kStep = "ffi.reflection.AccessStep";
  path.method(
      "_root", {kPath}, [](Args) { return Value(make_object<AccessPath>()); }, kFieldStaticMethod);
  path.method("_extend", {kPath, kPath, kStep},
              [](Args args) { return extend(args[0], Ref<AccessStep>::share(&as<AccessStep>(args[1], "the step"))); });
  constexpr struct {
    const char *name, *key;
  } kKinds[] = {{"_attr", "ffi.String"},         {"_array_item", "int"},         {"_map_item", "Any"},
                {"_attr_missing", "ffi.String"}, {"_array_item_missing", "int"}, {"_map_item_missing", "Any"}};
  for (int32_t kind = 0; const auto &[name, key] : kKinds) {
    path.method(name, {kPath, kPath, key}, [kind](Args args) {
      auto made = make_object<AccessStep>();
      made->kind = kind;
      made->key = Value(args[1]);
      return extend(args[0], std::move(made));
    });
    ++kind;
  }
  path.method("_is_prefix_of", {"bool", kPath, kPath}, is_prefix);
  path.method("_to_steps", {R"({"type":"ffi.Array","args":[{"type":"ffi.reflection.AccessStep"}]})", kPath}, steps_of);
  path.method("_path_equal", {"bool", kPath, kPath}, path_equal);
}

}  // namespace opd
