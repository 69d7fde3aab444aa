// The same program in C++: all headers of the C++ face are installed and need nothing else.
#include <cstdio>
#include <opdyno/opdyno.hpp>

int main() {
  const opdyno::Tensor tensor({2, 3}, "float32");
  std::printf("opdyno %s: %s\n", opdyno::version(), opdyno::Value::of(tensor).to_string().c_str());
}
