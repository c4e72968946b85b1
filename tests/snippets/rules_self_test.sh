#!/usr/bin/env bash
# Tests docs/rules-check on a copy of the page and its sources with planted mistakes.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

# expect NAME EXIT_CODE TEXT FILE SED_SCRIPT: changes one file, and finds TEXT in what rules-check says.
expect() {
    local name=$1 code=$2 text=$3 output status=0
    mkdir -p "$root/docs" "$root/tests/refused" "$root/tests/lang" "$root/include/plait/graph"
    cp "$here/docs/rules.md" "$root/docs/"
    cp "$here"/tests/refused/*.cpp "$root/tests/refused/"
    cp "$here/tests/lang/fixes_test.cpp" "$root/tests/lang/"
    cp "$here"/include/plait/graph/rule{,s}.hpp "$root/include/plait/graph/"
    if (($# > 3)); then sed -i "$5" "$root/$4"; fi
    output=$("$here/docs/rules-check" --root "$root" 2>&1) || status=$?
    if [[ $status != "$code" || $output != *"$text"* ]]; then
        printf '%s: expected exit code %s and "%s", got %s and:\n%s\n' "$name" "$code" "$text" "$status" "$output"
        failed=1
    fi
}

names=include/plait/graph/rule.hpp
texts=include/plait/graph/rules.hpp
expect "right" 0 "rules are listed"
expect "another text" 1 "root: its text is" docs/rules.md 's/the root is a rank/the root is one rank/'
expect "another literal" 1 "shape_mix: its text is" $texts 's/same number, the same/equal number, the same/'
expect "row missing" 1 "axis: is not in the page" docs/rules.md '/^| `axis`/d'
expect "row twice" 1 "axis: listed twice" docs/rules.md '/^| `axis`/p'
expect "rule missing" 1 "axis: no such rule" $names '/^    axis,$/d'
expect "rule without text" 1 "plenty: has no text" $names 's/^    axis,$/    axis,\n    plenty,/'
expect "no example" 1 "select: no example" docs/rules.md '/^| `select`/s/| `select(x, x, 0_c)` |/| |/'
expect "example not compiled" 1 'is not compiled in tests/refused' docs/rules.md 's/`0\.9 \* x`/`0.8 * x`/'
expect "advice not compiled" 1 'is not compiled in tests/lang' docs/rules.md 's/`0\.9_c \* x`/`0.8_c * x`/'
expect "piped example not compiled" 1 'step | split<"avggg">' docs/rules.md 's/avgg/avggg/'
exit "$failed"
