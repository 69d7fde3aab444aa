/** @file function.hpp  Packed functions: calls them, makes them from lambdas and C functions, registers them. */
#ifndef OPDYNO_FUNCTION_HPP_
#define OPDYNO_FUNCTION_HPP_

#include <opdyno/function.h>

#include <opdyno/value.hpp>
#include <tuple>

namespace opdyno {

/** A C++ callable that can become a packed function. */
template <class F>
inline constexpr bool is_packed_v = std::is_invocable_v<F &, const opd_value *, int32_t>;

class Function : public Handle<opd_function> {
 public:
  using Handle::Handle;
  template <class... Args>
  Value operator()(const Args &...args) const {
    return with_views([&](const opd_value *views, int32_t count,
                          opd_value *out) { check(opd_function_call(get(), views, count, out)); },
                      args...);
  }
  Value call(const Views &args) const {
    Value result;
    check(opd_function_call(get(), args.data(), count_of(args.size()), result.out()));
    return result;
  }

  static Function global(const char *name) { return made<Function>(opd_function_get_global, name); }
  static std::vector<std::string> list_global() { return made<Array>(opd_function_list_global).strings(); }
  static void remove_global(const char *name) { check(opd_function_remove_global(name)); }
  void register_global(const char *name, bool override_existing = false) const {
    check(opd_function_register(name, get(), override_existing));
  }

  static Function of(const opd_value &value) { return Function(object_in<opd_function>(value, OPD_FUNCTION)); }
  static Function of(const Value &value) { return of(value.view()); }
  /** Makes a packed function from anything that can be called with (const opd_value *args, int32_t num_args) and
   * returns nothing, a Value, or something that arg() takes. Exceptions become errors. */
  template <class F, std::enable_if_t<is_packed_v<F>, int> = 0>
  static Function of(F callable);
  /** Makes one from a C function by its signature, such as "f64(f64, i32)". @p keep_alive is a handle that the result
   * retains, for example of the module with the code. */
  static Function native(void *pointer, const char *signature, const char *name = nullptr, void *keep_alive = nullptr) {
    return made<Function>(opd_function_create_native, pointer, signature, name, keep_alive);
  }

  /** Calls @p call with the views of @p args, their number, and the place of the result. */
  template <class Call, class... Args>
  static Value with_views(Call call, const Args &...args) {
    const std::tuple<Converted<Args>...> kept(args...);
    Value result;
    std::apply(
        [&](const auto &...each) {
          const opd_value views[] = {each.view..., opd_none()};
          call(views, static_cast<int32_t>(sizeof...(args)), result.out());
        },
        kept);
    return result;
  }
};

template <class F>
struct Converted<F, std::enable_if_t<is_packed_v<F> && !std::is_base_of_v<Handle<opd_function>, F>>> {
  const Function made;
  const opd_value view;
  explicit Converted(const F &callable) : made(Function::of(callable)), view(arg(made)) {}
};

template <class F, std::enable_if_t<is_packed_v<F>, int>>
Function Function::of(F callable) {
  const opd_packed_fn run = [](void *data, const opd_value *args, int32_t num_args, opd_value *out) {
    return guarded([&] {
      F &body = *static_cast<F *>(data);
      if constexpr (std::is_void_v<std::invoke_result_t<F &, const opd_value *, int32_t>>) {
        body(args, num_args);
      } else {
        const auto result = body(args, num_args);
        const Converted<std::decay_t<decltype(result)>> converted(result);
        check(opd_value_retain(&converted.view, out));
      }
    });
  };
  auto kept = std::make_unique<F>(std::move(callable));
  Function function;
  check(opd_function_create(run, kept.get(), delete_as<F>, function.out()));
  kept.release();
  return function;
}

/** A C function pointer that calls a packed function, for libraries that take callbacks. */
class Closure : public Handle<opd_closure> {
 public:
  using Handle::Handle;
  Closure() = default;
  Closure(const Function &function, const char *signature) {
    check(opd_closure_create(function.get(), signature, out()));
  }
  /** `pointer<int (*)(const void *, const void *)>()`. Valid while this object lives. */
  template <class F>
  F pointer() const {
    return reinterpret_cast<F>(opd_closure_pointer(get()));
  }
  /** Throws the first error that a call could not return since the previous call of this function. */
  void throw_error() const { check(opd_closure_take_error(get())); }
};

}  // namespace opdyno
#endif
