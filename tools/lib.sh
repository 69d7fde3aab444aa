# Common functions of the tools: packages, steps with timings, configuring and building. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tool=tools/$(basename "$0")
cache_dir=${OPDYNO_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/opdyno}
jobs=$(nproc)
tvm=0.27 older_tvm=(0.25 0.26) # releases that tests make artifacts with
began=$SECONDS

# Debian 12 names; Ubuntu 22.04 and newer have the same.
build_packages=(g++ cmake ninja-build pkg-config libffi-dev libcjson-dev zlib1g-dev libssl-dev libvulkan-dev opencl-c-headers)
test_packages=(libgtest-dev python3 ccache abigail-tools)
optional_test_packages=(libpapi-dev lld mold ocl-icd-libopencl1 pocl-opencl-icd clinfo
  libvulkan1 mesa-vulkan-drivers vulkan-tools glslang-tools) # tools/test skips tests of a missing package; with --full it fails
cuda_packages=('cuda-toolkit[nvrtc,nvfatbin,cudart,cccl,crt,cupti,nvml]==13.5.0') # of PyPI: NVIDIA's compiler library, CUPTI and headers, which need no GPU
sanitizer_packages=(clang-14 libclang-rt-14-dev)
browser_packages=(chromium) # the Python package's tests skip the pages of traces without it
venv_packages=(python3-venv)
java_packages=(openjdk-17-jdk-headless)
natives_packages=(curl patch xz-utils)
format_packages=(clang-format-14)
aarch64_packages=(g++-aarch64-linux-gnu qemu-user)
rust_packages=(cargo-web) # Debian 12's own `cargo` is too old for the binding

# ccache shares objects between checkouts, and may use precompiled headers.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}

say() { printf '== %s\n' "$*"; }

finish() {  # last line of the tool; exit code
  printf '%s: %s\n' "$tool" "$1"
  exit "$2"
}

elapsed() { echo $((SECONDS - began)); }

# Seconds of processors that this shell and the commands it waited for have used. The clock also counts what runs beside;
# here a process beside counts in the step in which it ends.
processor_seconds() {
  local stat ticks=$(getconf CLK_TCK)
  read -r stat <"/proc/$BASHPID/stat"
  set -- ${stat##*) } # from the third field on; the fields 14 to 17 are the times
  used=$(((${12} + ${13} + ${14} + ${15}) / ticks))
}

# step TITLE COMMAND…: says what is done and how long it took; returns the command's status.
step() {
  local title=$1 start=$SECONDS status=0 used before
  shift
  say "$title"
  processor_seconds
  before=$used
  "$@" || status=$?
  processor_seconds
  say "$title: $([[ $status == 0 ]] && echo done || echo "failed ($status)"), $((SECONDS - start)) s ($((used - before)) s of processor time)"
  return "$status"
}

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Installs those of the packages that are missing.
need_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg-query apt-get >/dev/null; then
    say "no apt here: these must be installed by other means: $*"
    return
  fi
  for package; do is_installed "$package" || missing+=("$package"); done
  if [[ ${#missing[@]} == 0 ]]; then return; fi
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || finish "these packages are missing, and there is neither root nor sudo to install them: ${missing[*]}" 1
    as_root=(sudo)
  fi
  say "about to install from the distribution: ${missing[*]}"
  step "apt-get update" "${as_root[@]}" apt-get update -q || true # old lists may still do
  step "apt-get install" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" || finish "apt-get could not install ${missing[*]}" 1
}

# with_ccache COMMAND…: what CMake configures in it compiles by ccache, if that is there. Releases of CMake prefer
# different names of a compiler, and ccache takes these for different compilers.
with_ccache() {
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CC=${CC:-cc} CXX=${CXX:-c++}
  fi
  "$@"
}

# configure PRESET [CMAKE ARGUMENT…]
configure() {
  local preset=$1
  shift
  (cd "$root" && with_ccache cmake --preset "$preset" "$@" >"$(log_of configure "$preset")" 2>&1) && return
  cat "$(log_of configure "$preset")"
  return 1
}

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  NINJA_STATUS='[%f/%t, %e s] ' cmake --build "$root/build/$preset" ${1:+--target "$@"}
}

# build_without_tests TARGET…: of the release. Tests may be in this build already (tools/test); they are left in, but not
# built.
build_without_tests() {
  local tests_off=-DOPDYNO_BUILD_TESTS=OFF
  ! grep -qs '^OPDYNO_BUILD_TESTS:BOOL=ON' "$root/build/release/CMakeCache.txt" || tests_off=
  step "configure build/release" configure release $tests_off || finish "configuring failed" 1
  step "build" build release "$@" || finish "the build failed" 1
}

log_of() {
  mkdir -p "$root/build/log"
  echo "$root/build/log/$1-$2.log"
}

# Where tests find NVIDIA's compiler library, CUPTI and headers. Without them they skip what needs them.
export OPDYNO_CUDA_HOME=${OPDYNO_CUDA_HOME:-$cache_dir/cuda/home}
install_cuda_compiler() {
  local venv=$cache_dir/cuda home=$cache_dir/cuda/home
  local newest=cuda.h
  [[ $OPDYNO_CUDA_HOME != "$home" ]] || newest=nvFatbin.h # which older installations lack
  [[ ! -e $OPDYNO_CUDA_HOME/include/$newest ]] || return 0
  rm -rf "$venv" && python3 -m venv "$venv" && "$venv/bin/pip" install -q "${cuda_packages[@]}" || return
  ln -s "$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13)" "$home" # last: it says that nothing is missing
  [[ -e $home/include/$newest ]]
}

# Where tests find Prometheus, without its package, which would start a service.
export OPDYNO_PROMETHEUS_HOME=${OPDYNO_PROMETHEUS_HOME:-$cache_dir/prometheus/usr/bin}
unpack_prometheus() {
  local work=$cache_dir/prometheus.new
  [[ ! -e $OPDYNO_PROMETHEUS_HOME/prometheus ]] || return 0
  rm -rf "$work" && mkdir -p "$work" && (cd "$work" && apt-get -q -o APT::Sandbox::User=root download prometheus) || return
  dpkg -x "$work"/prometheus_*.deb "$work" && rm "$work"/*.deb && rm -rf "$cache_dir/prometheus" && mv "$work" "$cache_dir/prometheus"
}

aarch64_libraries=$cache_dir/aarch64

# Libraries of arm64 packages, by an apt with a state of its own and the package sources of this machine.
unpack_aarch64_libraries() {
  local libraries=(libffi-dev libffi8 libcjson-dev libcjson1 zlib1g-dev zlib1g libgtest-dev libssl-dev libvulkan-dev opencl-c-headers) work=$aarch64_libraries.new package link
  local apt=(apt-get -q -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache"
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root)
  [[ $(cat "$aarch64_libraries/complete" 2>/dev/null) != "${libraries[*]}" ]] || return 0
  rm -rf "$work" && mkdir -p "$work"/{state/lists/partial,cache/archives/partial,packages} && : >"$work/status" || return
  "${apt[@]}" update && (cd "$work/packages" && "${apt[@]}" download "${libraries[@]}") || return
  for package in "$work"/packages/*.deb; do dpkg -x "$package" "$work" || return; done
  # Debian 12 has zlib in /lib, and an absolute link to it in /usr/lib.
  if [[ -d $work/lib ]]; then cp -a "$work"/lib/. "$work/usr/lib" || return; fi
  find "$work/usr/lib" -lname '/*' | while read -r link; do ln -sf "$(basename "$(readlink "$link")")" "$link"; done
  echo "${libraries[*]}" >"$work/complete" # last: it says that nothing is missing
  rm -rf "$work"/{state,status,cache,packages,lib} "$aarch64_libraries" && mv "$work" "$aarch64_libraries"
}
