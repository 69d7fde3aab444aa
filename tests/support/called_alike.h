// Compares declarations of the library's own with those of another's header.
#pragma once
#include <type_traits>

namespace opdyno_test {

template <class T>
inline constexpr bool kIsNumber = std::is_integral_v<T> || std::is_enum_v<T>;

// Whether two types are passed alike: of one size, pointers for pointers, numbers for numbers.
template <class A, class B>
inline constexpr bool kAlike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&kIsNumber<A> == kIsNumber<B>;

// Whether two functions are called alike.
template <class A, class B>
struct CalledAlike : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct CalledAlike<R (*)(P...), S (*)(Q...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<P, Q> && ...)> {
};

}  // namespace opdyno_test
