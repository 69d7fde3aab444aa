// Whether two functions are called alike: as many parameters, each of the same size, pointers for pointers. So own
// declarations of a foreign library are compared with its header.
#pragma once
#include <type_traits>

namespace opd {

template <class A, class B>
constexpr bool kAlike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <>
inline constexpr bool kAlike<void, void> = true;

template <class A, class B>
constexpr bool kCalledAlike = false;
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) constexpr bool kCalledAlike<R (*)(P...), S (*)(Q...)> = kAlike<R, S> &&
                                                                                               (kAlike<P, Q> && ...);

}  // namespace opd
