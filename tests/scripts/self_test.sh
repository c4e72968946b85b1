#!/usr/bin/env bash
# Tests the repository's shell scripts: syntax, arguments, and what demo and check do about missing tools.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain() {
    printf '%s\n' "$@"
    failed=1
}

# Every script parses.
mapfile -t scripts < <(grep -rlE --exclude-dir=build --exclude-dir=.git '^(#!.*bash|# shellcheck shell=bash)' "$root")
if ((${#scripts[@]} < 7)); then complain "only ${#scripts[@]} scripts found"; fi
for script in "${scripts[@]}"; do
    bash -n "$script" || complain "$script: syntax error"
done

# expect EXIT_CODE TEXT COMMAND...: TEXT must be in the command's output.
expect() {
    local code=$1 text=$2 output status=0
    shift 2
    output=$("$@" 2>&1 </dev/null) || status=$?
    if [[ $status != "$code" || $output != *"$text"* ]]; then
        complain "$*: expected exit code $code and \"$text\", got $status and:" "$output"
    fi
}

expect 0 "usage: ./demo" "$root/demo" --help
expect 0 "usage: ./check" "$root/check" --help
expect 2 "check: unknown argument '--nope'; see ./check --help" "$root/check" --nope
expect 0 "usage: tests/soak/run" "$root/tests/soak/run" --help
expect 2 "tests/soak/run: --minutes needs a number" "$root/tests/soak/run" --minutes soon
expect 2 "tests/soak/run: unknown argument '--nope'" "$root/tests/soak/run" --nope
expect 0 "usage: tests/soak/fuzz" "$root/tests/soak/fuzz" --help
expect 2 "tests/soak/fuzz: --minutes needs a number" "$root/tests/soak/fuzz" --minutes
expect 0 "failures are listed" "$root/docs/hardening-check"

# A machine of our own making: in its PATH are only the tools of a small Debian, and stand-ins that say what they are.
mkdir "$work/bin"
for tool in bash env dirname cat sed sort head tail mktemp rm mkdir ln; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
fake() { # fake NAME TEXT: a program of that name
    printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
setup() { # setup [tests]: ensure_tools on that machine
    env -i PATH="$work/bin" bash -euo pipefail -c "source '$root/cmake/setup.sh'; ensure_tools $*; echo \"CXX=\$CXX\""
}

fake g++ 'echo 12.2.0'
fake cmake 'echo "cmake version 3.25.1"'
fake make ''
expect 0 "CXX=g++" setup
fake g++ 'echo 11'
fake g++-12 'echo 12'
expect 0 "CXX=g++-12" setup

rm "$work/bin/g++-12" "$work/bin/cmake" "$work/bin/make"
expect 1 "missing: g++-12 cmake ninja-build (Debian's names); without apt-get" setup
fake apt-get "echo \"\$*\" >>'$work/apt.log'"
fake id 'echo 1000'
expect 1 "installing them takes root or sudo. As root, run:" setup
expect 1 "    apt-get update && apt-get install -y --no-install-recommends g++-12 cmake ninja-build" setup
if [[ -e $work/apt.log ]]; then complain "apt-get ran without being root"; fi
fake sudo 'if [[ $1 == -n ]]; then exit 1; fi; exec "$@"'
expect 1 "As root, run:" setup  # sudo wants a password and nobody is there to type it

fake id 'echo 0'
fake apt-get 'exit 100'
expect 1 "apt-get could not install: g++-12 cmake ninja-build" setup
fake apt-get 'true'
expect 1 "still missing after 2 tries: g++-12 cmake ninja-build" setup
for tool in g++-12 cmake ninja; do
    fake "$tool" "case $tool in cmake) echo cmake version 3.31.6;; *) echo 12;; esac"
    mv "$work/bin/$tool" "$work/$tool"
done
fake apt-get "echo \"\$*\" >>'$work/apt.log'; if [[ \$1 == install ]]; then ln -s $work/{g++-12,cmake,ninja} $work/bin; fi"
expect 0 "CXX=g++-12" setup
expect 0 "" grep -q -- "^install -y --no-install-recommends g++-12 cmake ninja-build$" "$work/apt.log"

exit "$failed"
