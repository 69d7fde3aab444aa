# What tools/test and tools/checks.sh share: counting, building and testing one build directory. Sourced, not run.

# Reports name functions also where only binutils are installed, not LLVM's own program for that.
symbols=allow_addr2line=1
# LeakSanitizer of clang 14 takes the 16 bytes before a block of thread-local memory for a header of glibc 2.19 if the
# block begins 16 bytes into a page. The bytes are a header of AddressSanitizer's, so the leak check then reads a random
# address and crashes. Without that look, the blocks are still not lost: ld.so allocated them, which the check knows.
no_tls_guess=intercept_tls_get_addr=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$symbols ASAN_OPTIONS=detect_leaks=1:$no_tls_guess:$symbols TSAN_OPTIONS=halt_on_error=1:suppressions=$root/tests/support/tsan.supp:$symbols

# Files, because several checks write into them at once.
results=$(log_of test results) skipped=$(log_of test skipped) failures=$(log_of test failures)

# count TESTS FAILED WHAT: one line of the results.
count() { echo "$1 $2 $3" >>"$results"; }

# check TITLE COMMAND…: a step outside ctest, counted as one test; returns the command's status.
check() {
  local log status=0
  log=$(log_of check "${1//[^A-Za-z0-9]/-}")
  if step "$@" 2>&1 | tee "$log"; then
    count 1 0 "$1"
  else
    status=1
    count 1 1 "$1"
    { grep -E '^(FAILED|ERROR|E  |____)|[Ee]rror: ' "$log" | head -n 20; tail -n 10 "$log"; } | cut -c1-300 >>"$failures" || true
  fi
  note_skipped "$1" "$log"
  return "$status"
}

# run_ctest PRESET [CTEST ARGUMENT…]: counts by ctest's own summary.
run_ctest() {
  local preset=$1 summary log status=0 fixed_addresses=()
  shift
  log=$(log_of ctest "$preset")
  # The sanitizers of gcc 12 and clang 14 fail to start where a new kernel randomises more address bits than they know.
  if [[ $preset != release ]] && setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi
  # Many tests mostly wait: for clocks, for other processes, for the end of a limit. So more run than there are cores.
  "${fixed_addresses[@]}" ctest --test-dir "$root/build/$preset" --output-on-failure --timeout 600 -j $((jobs + 1)) "$@" ${ctest_args[@]+"${ctest_args[@]}"} 2>&1 |
    tee "$log" || status=$?
  summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -n 1) || true
  if [[ $summary =~ ,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
    count "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}" "tests of build/$preset"
  elif [[ ${#ctest_args[@]} == 0 || $status != 0 ]] || ! grep -q '^No tests were found' "$log"; then
    count 1 1 "ctest in build/$preset"
  fi
  note_skipped "build/$preset" "$root/build/$preset/Testing/Temporary/LastTest.log"
  note_failures "$preset" <"$log"
  return "$status"
}

# note_failures PRESET: keeps of ctest's output the name of each failed test, what it said of its failures, and how it
# ended. The names are all kept; of the rest, 100 lines.
note_failures() {
  awk -v where="build/$1: " '
    function detail(line) {
      if (++details <= 100) print "  " line
      else if (details == 101) print "  … (the rest is in build/log)"
    }
    function finish_test(i) {
      for (i = count > 8 ? count - 7 : 1; i <= count; i++) if (i > kept) detail(lines[i])
      count = kept = follow = 0
    }
    / Test +#[0-9]+: |^ +Start +[0-9]+: |^[0-9]+% tests passed/ {
      finish_test()
      failed = /\*\*\*/ && !/\*\*\*Skipped/
      if (failed) print where $0
      next
    }
    failed {
      lines[++count] = $0
      if (/Failure$|^(FAIL|ERROR): |ERROR: |runtime error: |Assert|terminate called/) follow = 6
      if (follow-- > 0 && shown[$0]++ < 3) { detail($0); kept = count }
    }' | cut -c1-300 >>"$failures"
}

# note_skipped WHERE LOG: keeps the lines of the log that say which test was skipped and why, also pytest's. What TVM is
# missing for is run beside TVM in a check of its own.
note_skipped() { sed -nE "/run_tvm.py brings it/d; s#^(skipped: |SKIPPED \[[0-9]+\] )#$1: #p" "$2" | cut -c1-300 | sort -u >>"$skipped"; }

build_only() {
  step "configure build/$1" configure "$1" -DOPDYNO_BUILD_TESTS=ON "${@:2}" &&
    step "build build/$1" build "$1" 2>&1 | tee "$(log_of build "$1")"
}

# built PRESET [CMAKE ARGUMENT…]: a build that fails counts as a test that fails.
built() { build_only "$@" || { count 1 1 "the build in build/$1"; return 1; }; }

# Of a long output, some readers keep the end only: so what failed is repeated there, of builds the first errors.
show_failures() {
  local log
  for log in $(grep -lsE '^ninja: build stopped|^-- Configuring incomplete' "$root"/build/log/{configure,build}-*.log); do
    say "the first errors of $log:"
    grep -m 3 -A 12 -E '^FAILED|^CMake Error' "$log" | cut -c1-300 || true
  done
  if [[ -s $failures ]]; then
    say "failed:"
    cat "$failures"
  fi
}

