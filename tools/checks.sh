# The commands of tools/checks.ninja: one function each, with _ for -. Sourced by tools/test, which has `level`,
# `fuzz_minutes` and `ctest_args`.

python_venv=$cache_dir/bindings/python
with_python=(--python "$python_venv/bin/python" --cache "$cache_dir/interop")

# ---- downloads. Their own lines say what is missing; what needs them fails and is counted.

install_packages() {
  need_packages "${sanitizer_packages[@]}" "${java_packages[@]}" "${format_packages[@]}"
  command -v cargo >/dev/null || need_packages "${rust_packages[@]}"
  [[ $level != release ]] || need_packages "${aarch64_packages[@]}" "${natives_packages[@]}" maven
}
fetch_packages() { check "install packages" install_packages; }
fetch_browser() { (need_packages "${browser_packages[@]}") || say "without ${browser_packages[*]} some tests are skipped"; }
fetch_cuda() { check "install NVIDIA's compiler for tests" install_cuda_compiler; }
fetch_prometheus() { check "unpack Prometheus for tests" unpack_prometheus; }
fetch_crates() { check "download crates" cargo fetch --quiet --manifest-path "$root/bindings/rust/Cargo.toml"; }

# in_tests DIRECTORY CODE: Python code with the modules of that directory of tests/.
in_tests() { (cd "$root/tests/$1" && PYTHONPATH=$root/tests/bindings python3 -B -c "from pathlib import Path; $2"); }

tvm_environments() {
  local release
  for release; do in_tests interop "import generate; generate.environment_for('$release', Path('$cache_dir/interop'))" || return; done
}
fetch_tvm() { check "install TVM $tvm" tvm_environments "$tvm"; }
fetch_older_tvm() { check "install TVM ${older_tvm[*]}" tvm_environments "${older_tvm[@]}"; }
fetch_swig() { check "install SWIG and newer JDKs" in_tests bindings/java "import jdks; jdks.newer_jdks(Path('$cache_dir/bindings'))"; }

# What the Python package's tests need, without the package. OpenTelemetry lies apart, because Ray takes a part of it for
# the whole.
python_environment() {
  local needed
  export OPDYNO_TEST_OPENTELEMETRY=$cache_dir/bindings/opentelemetry
  [[ -x $python_venv/bin/pip ]] || rm -rf "$python_venv" # half made by a run that was ended
  mapfile -t needed < <(python3 -c 'import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["optional-dependencies"]["test"], sep="\n")' "$root/bindings/python/pyproject.toml")
  python3 -m venv "$python_venv" && "$python_venv/bin/pip" install -q --upgrade "${needed[@]}" &&
    { [[ -d $OPDYNO_TEST_OPENTELEMETRY ]] ||
      "$python_venv/bin/pip" install -q --no-deps --target "$OPDYNO_TEST_OPENTELEMETRY" opentelemetry-proto==1.45.2; }
}
fetch_python() { check "install what the Python package's tests need" python_environment; }

# ---- builds

build_library() { configure release -DOPDYNO_BUILD_TESTS=ON && build release opdyno opdyno_static opdyno_tvmffi opdyno_cli; }
library() { check "library and program" build_library; }
release_build() { built release; }
asan_build() { built asan -DOPDYNO_TEST_OBJECTS="$root/build/release"; }
tsan_build() { built tsan; }

# ---- tests of a build

if [[ $level == release ]]; then export OPDYNO_TEST_FULL=1; fi # some try more
release_tests() {
  step "tests of build/release" run_ctest release -LE soak
}
asan_tests() { step "tests of build/asan" run_ctest asan -LE "soak$([[ $level == release ]] || echo '|long')"; }
tsan_tests() { OPDYNO_SOAK_SECONDS=10 step "tests of build/tsan" run_ctest tsan; }
soak() { OPDYNO_SOAK_SECONDS=120 step "soak with build/tsan" run_ctest tsan -L soak; }

# Looks for new inputs with the fuzz targets of build/asan.
find_inputs() {
  local seconds targets=("$root"/build/asan/bin/*_fuzzer)
  [[ -x ${targets[0]} ]] || { echo "build/asan/bin has no fuzz target"; return 1; }
  seconds=$((fuzz_minutes * 60 * jobs / ${#targets[@]} + 1))
  say "${#targets[@]} targets, $seconds s each, $jobs at a time"
  printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz_one "$@"' _ {} "$seconds"
}

# fuzz_one TARGET SECONDS: what it finds goes to build/asan, never into the tree.
fuzz_one() {
  local name work seeds
  name=$(basename "$1")
  work=$root/build/asan/found/$name seeds=$root/tests/fuzz/corpus/${name%_fuzzer}
  mkdir -p "$work/corpus"
  [[ -d $seeds ]] || seeds=
  # Without address randomisation, as in run_ctest().
  if $(setarch -R true 2>/dev/null && echo setarch -R) "$1" -seed="${OPDYNO_FUZZ_SEED:-1}" -max_total_time="$2" -timeout=20 -rss_limit_mb=2048 -artifact_prefix="$work/" -print_final_stats=1 "$work/corpus" $seeds \
      >"$work/log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log") inputs, nothing found"
  else
    tail -n 40 "$work/log"
    echo "$name: FAILED, the input is in $work"
    return 1
  fi
}
export -f fuzz_one
export root
fuzzing() { check "fuzz for $fuzz_minutes minutes" find_inputs; }

# ---- beside TVM

# Every model in both of TVM's execution modes.
make_artifacts() {
  local generate=("$root/tests/interop/generate.py" --set tests --cache "$cache_dir/interop") release
  for release; do
    python3 "${generate[@]}" --tvm "$release" --out "$root/build/interop" &&
      python3 "${generate[@]}" --tvm "$release" --exec-mode compiled --out "$root/build/interop/compiled" || return
  done
}
artifacts() { check "make TVM $tvm's artifacts anew" make_artifacts "$tvm"; }

# The binding matrix beside the real libraries.
binding_matrix() {
  local site
  site=$(echo "$cache_dir/interop/venv-$tvm"/lib/python3*/site-packages)
  OPDYNO_TEST_TVM_LIBS=$site/tvm_ffi/lib/libtvm_ffi.so:$site/tvm/lib/libtvm_runtime.so \
    "$root/build/release/bin/binding_matrix" "$root/build/release/lib/libopdyno.so"
}
binding_beside_tvm() { check "binding matrix beside real TVM" binding_matrix; }
python_beside_tvm() { check "Python package beside TVM $tvm" "$python_venv/bin/python" "$root/tests/bindings/python/run_tvm.py" --tvm "$tvm" --cache "$cache_dir/interop"; }
rpc_with_tvm() { check "TVM's RPC: clients, servers and tracker" "$root/tests/interop/rpc/run.py" "${with_python[@]}"; }
language_model() { check "a language model of TVM $tvm" "$root/tests/interop/language/run.py" --release "$tvm" "${with_python[@]}"; }

older_tvm() {
  local release status=0
  check "make the artifacts of TVM ${older_tvm[*]} anew" make_artifacts "${older_tvm[@]}" || status=1
  check "tests with them" ctest --test-dir "$root/build/release" --no-tests=error --output-on-failure -R '^interop\.replay' || status=1
  for release in "${older_tvm[@]}"; do
    check "Python package beside TVM $release" "$python_venv/bin/python" "$root/tests/bindings/python/run_tvm.py" --tvm "$release" --cache "$cache_dir/interop" || status=1
  done
  check "a language model of TVM ${older_tvm[*]}" "$root/tests/interop/language/run.py" --release "${older_tvm[@]}" "${with_python[@]}" || status=1
  return "$status"
}

# tvm-ffi's own tests with our library in the place of its own.
tvm_ffi() { check "tvm-ffi's own tests" python3 "$root/tests/interop/tvm_ffi/run.py" --cache "$cache_dir/interop"; }
# Builds of one network by TVM, and builds with a wrong kernel.
compared_builds() { check "builds of one network, compared" "$root/tests/interop/compared/run.py" "${with_python[@]}"; }
# Files of traces, read by what others made.
trace_readers() { check "foreign readers of traces" "$root/tests/interop/trace_readers/run.py" --inferno "${with_python[@]}"; }

# ---- languages

# The package as users install it, but with the library of build/release; tools/wheel makes it of its own sources.
python_package() {
  export OPDYNO_TEST_OPENTELEMETRY=$cache_dir/bindings/opentelemetry
  with_ccache "$python_venv/bin/pip" install -q --no-deps --force-reinstall -Cbuild-dir="$root/build/python" \
    -Ccmake.define.OPDYNO_LIBRARY_BUILD="$root/build/release" "$root/bindings/python" &&
    (cd "$root/tests/bindings/python" && "$python_venv/bin/python" -m pytest -q -rs -p no:cacheprovider)
}
python() { check "Python package" python_package; }

# other_language NAME [ARGUMENT…]: the rules of bindings/swig in that language, and its tests.
other_language() { "$root/tests/bindings/$1/run.py" --build-dir "$root/build/release" --cache "$cache_dir/bindings" "${@:2}"; }
java() { check "Java" other_language java; }
rust() { check "Rust" other_language rust; }
sanitized_bindings() {
  local language status=0
  for language in java rust; do
    check "$language with sanitizers" other_language "$language" --sanitized "$root/build/asan" || status=1
  done
  return "$status"
}

# ---- packages, and the rest

wheel() { check "Python wheel" "$root/tools/wheel"; }
crates() { check "Rust crates" "$root/tools/crates"; }
maven() { check "Java package" "$root/tools/java"; }
aarch64() { check "aarch64 under QEMU" "$root/tools/aarch64"; }
format() { check "format" "$root/tools/format" --check; }
