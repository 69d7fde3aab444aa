#!/usr/bin/env bash
# Installs into a clean prefix, builds a small C program against it by pkg-config and by CMake, and runs both and the CLI.
#   install_test.sh SOURCE_DIR BUILD_DIR [COMPILER FLAG…]
set -euo pipefail

source_dir=$1 build_dir=$2 flags=("${@:3}")
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

libdir=$(dirname "$(find "$prefix" -name opdyno.pc)")/..
export PKG_CONFIG_PATH=$libdir/pkgconfig
expect "version by pkg-config" "$(pkg-config --modversion opdyno)" "$version"
read -ra pc_flags < <(pkg-config --cflags --libs opdyno)
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror "${flags[@]}" "$source_dir/tests/install/consumer/hello.c" "${pc_flags[@]}" -o "$work/hello"
expect "built by pkg-config" "$(LD_LIBRARY_PATH=$libdir "$work/hello")" "$wanted"

if [[ -e $libdir/libopdyno.a ]]; then  # of gcc without sanitizers
  read -ra needed < <(sed 's/[^ ]*/-l&/g' "$libdir/libopdyno.a.needs")
  "${CC:-cc}" -std=c99 "$source_dir/tests/install/consumer/hello.c" $(pkg-config --cflags opdyno) "$libdir/libopdyno.a" "${needed[@]}" -o "$work/hello_static"
  expect "linked statically" "$(env -u LD_LIBRARY_PATH "$work/hello_static")" "$wanted"
  expect "its library" "$(ldd "$work/hello_static" | grep -c libopdyno || true)" 0
  global=$(nm --defined-only --extern-only "$libdir/libopdyno.a" | sed -n 's/.* [A-Zu] //p' | { grep -v '^opd_' || true; })
  expect "other names in the archive" "$global" ""
  read -ra pc_static < <(pkg-config --static --libs opdyno)
  for library in "${needed[@]}"; do [[ " ${pc_static[*]} " == *" $library "* ]] || { echo "opdyno.pc lacks $library" >&2; exit 1; }; done
  grep -q "build_without_tests .*\bopdyno_static\b" "$source_dir/tools/demo" || { echo "tools/demo does not build opdyno_static" >&2; exit 1; }
fi

cmake -G Ninja -S "$source_dir/tests/install/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${flags[*]}" -DCMAKE_CXX_FLAGS="${flags[*]}" >"$work/cmake.log"
cmake --build "$work/consumer" >>"$work/cmake.log"
expect "built by CMake" "$("$work/consumer/hello")" "$wanted"

expect "built in C++" "$("$work/consumer/hello_cpp")" "$wanted"

expect "the second library by CMake" "$("$work/consumer/linked")" "seven is 7"
expect "the second library's flags" "$(pkg-config --libs-only-l opdyno_tvmffi | xargs)" "-lopdyno_tvmffi -lopdyno"

unset LD_LIBRARY_PATH
# tools/demo builds all that is installed: README installs after it.
for target in $(sed -n 's/^install(TARGETS \(.*\) \(EXPORT\|RUNTIME\).*/\1/p' "$source_dir/cmake/install.cmake" "$source_dir/src/cli/CMakeLists.txt"); do
  grep -q "build_without_tests .*\b$target\b" "$source_dir/tools/demo" || { echo "tools/demo does not build $target" >&2; exit 1; }
done

# The build tree may be moved; nothing is looked for in the current directory.
mkdir -p "$work/moved/bin" "$work/moved/lib" "$work/here"
cp "$build_dir/bin/opdyno" "$work/moved/bin/"
cp -d "$build_dir"/lib/libopdyno*.so* "$work/moved/lib/"
for library in "$build_dir"/lib/libopdyno*.so*; do echo "no library" >"$work/here/$(basename "$library")"; done
expect "the moved program" "$(cd "$work/here" && "$work/moved/bin/opdyno" --version | head -n 1)" "opdyno $version"
for file in "$work/moved/bin/opdyno" "$work/moved"/lib/*.so; do
  run_path=$(readelf -d "$file" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p')
  [[ :$run_path: != *::* || -z $run_path ]] || { echo "the run path of $file has an empty element: $run_path" >&2; exit 1; }
  [[ $run_path != *"$build_dir"* ]] || { echo "$file names the build tree: $run_path" >&2; exit 1; }
done
expect "the installed program" "$("$prefix/bin/opdyno" --version | head -n 1)" "opdyno $version"
for header in "$source_dir"/include/opdyno/*.h "$source_dir"/include/opdyno/*.hpp; do
  [[ -f $prefix/include/opdyno/$(basename "$header") ]] || { echo "$(basename "$header") is not installed" >&2; exit 1; }
done
share=$prefix/share
pages=(man/man1/opdyno.1 man/man1/opdyno-doctor.1 bash-completion/completions/opdyno zsh/site-functions/_opdyno fish/vendor_completions.d/opdyno.fish)
[[ ${#flags[@]} == 0 ]] || pages=()  # a program with sanitizers writes none
for file in "${pages[@]}"; do
  [[ -s $share/$file ]] || { echo "share/$file is not installed" >&2; exit 1; }
done
[[ -f $prefix/include/opdyno/dlpack.h ]] || { echo "dlpack.h is not installed" >&2; exit 1; }
echo "installed tree works"
