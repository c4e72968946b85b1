# Sourced by demo and check, from the repository's root: finds the tools to build with, and installs what is missing.
# shellcheck shell=bash

die() {
    printf '%s\n' "$@" >&2
    exit 1
}

# version_at_least VERSION MINIMUM
version_at_least() {
    [[ -n $1 && $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

# Sets and exports CXX, unless the user has: CMake says what it thinks of their choice.
find_compiler() {
    local candidate
    if [[ -n ${CXX-} ]]; then return 0; fi
    for candidate in g++ g++-12 g++-13 g++-14 g++-15; do
        if version_at_least "$("$candidate" -dumpversion 2>/dev/null)" 12; then
            export CXX=$candidate
            return 0
        fi
    done
    return 1
}

find_clang() {
    local candidate
    for candidate in clang++ clang++-{16..21}; do
        if version_at_least "$("$candidate" -dumpversion 2>/dev/null)" 16; then return 0; fi
    done
    return 1
}

# Prints the Debian packages to install. With the argument `tests`, also those that only the tests need.
missing_packages() {
    if ! find_compiler; then
        # A g++ that is too old is the distribution's default: the newer one has a number.
        if command -v g++ >/dev/null; then echo g++-12; else echo g++; fi
    fi
    if ! version_at_least "$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')" 3.25; then echo cmake; fi
    if ! command -v ninja >/dev/null && ! command -v make >/dev/null; then echo ninja-build; fi
    if [[ ${1-} == tests && ! -e /usr/include/doctest/doctest.h && ! -e /usr/local/include/doctest/doctest.h ]]; then
        echo doctest-dev
    fi
}

# Sets as_root to the command that runs another one as root, if there is one that asks nothing (or a person to ask).
find_root() {
    as_root=()
    if [[ $(id -u) == 0 ]]; then return 0; fi
    if ! command -v sudo >/dev/null; then return 1; fi
    as_root=(sudo)
    sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo true; }
}

apt_install() {
    local log status=0
    log=$(mktemp)
    echo "installing with apt-get: $*"
    "${as_root[@]}" apt-get update >"$log" 2>&1 </dev/null || true  # one dead source does not matter; the next line tells
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" \
        >>"$log" 2>&1 </dev/null || status=$?
    if ((status != 0)); then tail -n 20 "$log" >&2; fi
    rm -f "$log"
    return "$status"
}

# Installs what is missing, or says what to run and exits. Arguments as of missing_packages.
ensure_tools() {
    local attempt missing
    # A second round, because the g++ that the first one installs may be too old.
    for attempt in 1 2; do
        mapfile -t missing < <(missing_packages "$@")
        if ((${#missing[@]} == 0)); then break; fi
        if ! command -v apt-get >/dev/null; then
            die "missing: ${missing[*]} (Debian's names); without apt-get, install them in this system's own way"
        fi
        if ! find_root; then
            die "missing: ${missing[*]}; installing them takes root or sudo. As root, run:" \
                "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        fi
        apt_install "${missing[@]}" || die "apt-get could not install: ${missing[*]}"
    done
    mapfile -t missing < <(missing_packages "$@")
    if ((${#missing[@]} != 0)); then
        die "still missing after $attempt tries: ${missing[*]}; plait needs g++ 12 and CMake 3.25 or later," \
            "and this system's packages are older. Install newer ones and put them first in PATH."
    fi
    find_compiler
    if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR-Ninja}; fi
}

# Tries to install a clang++ for the second opinion on headers and errors. Without one its checks are skipped.
try_to_install_clang() {
    local package
    if find_clang || ! command -v apt-get >/dev/null || ! find_root; then return 0; fi
    for package in clang-16 clang-18 clang-19; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            apt_install "$package" || true
            return 0
        fi
    done
}

# Tries to install what switches itself on when it is there: both common MPIs and OpenBLAS. Without them their checks are
# skipped.
try_to_install_optional() {
    local missing=()
    if ! command -v apt-get >/dev/null || ! find_root; then return 0; fi
    if ! command -v mpirun.openmpi >/dev/null || ! command -v mpicxx.openmpi >/dev/null; then missing+=(openmpi-bin libopenmpi-dev); fi
    if ! command -v mpirun.mpich >/dev/null || ! command -v mpicxx.mpich >/dev/null; then missing+=(mpich libmpich-dev); fi
    if ! compgen -G '/usr/include/*/cblas.h' >/dev/null && [[ ! -e /usr/include/cblas.h ]]; then missing+=(libopenblas-dev); fi
    if ((${#missing[@]} != 0)); then apt_install "${missing[@]}" || true; fi
}
