#!/usr/bin/env bash
# Installs into a clean prefix, builds a small C program against it by pkg-config and by CMake, and runs both and the CLI.
#   install_test.sh SOURCE_DIR BUILD_DIR [SANITIZERS]
set -euo pipefail

source_dir=$1 build_dir=$2 sanitize=${3:-}
work=$build_dir/install_test
rm -rf "$work"
mkdir -p "$work"

expect() {  # what, text found, text wanted
  [[ $2 == "$3" ]] && return
  printf '%s\n  found:  %s\n  wanted: %s\n' "$1" "$2" "$3" >&2
  exit 1
}

cmake --install "$build_dir" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"  # whoever names the first place is not relocatable
prefix=$work/prefix
version=$(sed -n 's/^project(opdyno VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
wanted="opdyno $version: Tensor(float32[2, 3], cpu:0)"
flags=()
[[ -n $sanitize ]] && flags=("-fsanitize=$sanitize")

libdir=$(dirname "$(find "$prefix" -name opdyno.pc)")/..
export PKG_CONFIG_PATH=$libdir/pkgconfig
expect "version by pkg-config" "$(pkg-config --modversion opdyno)" "$version"
read -ra pc_flags < <(pkg-config --cflags --libs opdyno)
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror "${flags[@]}" "$source_dir/tests/install/consumer/hello.c" "${pc_flags[@]}" -o "$work/hello"
expect "built by pkg-config" "$(LD_LIBRARY_PATH=$libdir "$work/hello")" "$wanted"

cmake -G Ninja -S "$source_dir/tests/install/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${flags[*]}" >"$work/cmake.log"
cmake --build "$work/consumer" >>"$work/cmake.log"
expect "built by CMake" "$("$work/consumer/hello")" "$wanted"

expect "the second library by CMake" "$("$work/consumer/linked")" "seven is 7"
expect "the second library's flags" "$(pkg-config --libs-only-l opdyno_tvmffi | xargs)" "-lopdyno_tvmffi -lopdyno"

unset LD_LIBRARY_PATH
expect "the installed program" "$("$prefix/bin/opdyno" --version | head -n 1)" "opdyno $version"
for header in "$source_dir"/include/opdyno/*.h; do
  [[ -f $prefix/include/opdyno/$(basename "$header") ]] || { echo "$(basename "$header") is not installed" >&2; exit 1; }
done
[[ -f $prefix/include/opdyno/dlpack.h ]] || { echo "dlpack.h is not installed" >&2; exit 1; }
echo "installed tree works"
