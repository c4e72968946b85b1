#!/usr/bin/env bash
# Tests docs/snippets on planted pages.
set -euo pipefail

snippets=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/docs/snippets
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/docs" "$root/examples"
failed=0

cat >"$root/examples/first.cpp" <<'END'
int main()
{
    // [whole]
    int a = 1;

    // [inner]
    if (a > 0) {
        a = 2;
    }
    // [/inner]
    // [/whole]
    // [open]
}
END

right=$(cat <<'END'
# A page

<!-- snippet: examples/first.cpp#whole -->
```cpp
int a = 1;

if (a > 0) {
    a = 2;
}
```

<!-- snippet: examples/first.cpp#inner -->
```cpp
if (a > 0) {
    a = 2;
}
```

```sh
int a = 3  # not C++
```
END
)

# expect NAME EXIT_CODE TEXT [ARGUMENTS]: runs docs/snippets on the page given as input; TEXT must be in its output.
expect() {
    local name=$1 code=$2 text=$3 output status=0
    shift 3
    cat >"$root/docs/page.md"
    output=$("$snippets" --root "$root" "$@" 2>&1) || status=$?
    if [[ $status != "$code" || $output != *"$text"* ]]; then
        printf '%s: expected exit code %s and "%s", got %s and:\n%s\n' "$name" "$code" "$text" "$status" "$output"
        failed=1
    fi
}
page_is() {
    if [[ $(cat "$root/docs/page.md") != "$2" ]]; then
        echo "$1: the page is not as expected:"
        cat "$root/docs/page.md"
        failed=1
    fi
}

expect "right" 0 "2 code blocks in 1 pages equal their sources" <<<"$right"
expect "drift" 1 "-    a = 4;" <<<"${right/a = 2;/a = 4;}"
page_is "drift is not mended unasked" "${right/a = 2;/a = 4;}"
expect "indent" 1 "-     a = 2;" <<<"${right/    a = 2;/     a = 2;}"
expect "update" 0 "docs/page.md: updated" --update <<<"${right//a = 2;/a = 4;}"
page_is "update" "$right"
expect "unmarked" 1 "docs/page.md:1: this code block needs a line" <<<$'```cpp\nint a;\n```'
expect "unmarked, in a list" 1 "docs/page.md:2: this code block needs a line" <<<$'- item\n  ```cpp\n  int a;\n  ```'
expect "unmarked, CUDA" 1 "docs/page.md:1: this code block needs a line" <<<$'```cuda\nint a;\n```'
expect "no such piece" 1 "no // [other] in it" <<<"${right/\#whole/\#other}"
expect "no such file" 1 "no such file" <<<"${right/first.cpp/second.cpp}"
expect "not compiled" 1 "is not among the compiled sources" <<<"${right/examples/docs}"
expect "piece without end" 1 "no // [/open] in it" <<<"${right/\#whole/\#open}"
expect "marker without block" 1 "no code block follows" <<<$'<!-- snippet: examples/first.cpp#whole -->\n\ntext'
expect "misspelt marker" 1 "write <!-- snippet: path#name -->" <<<$'<!-- snippet examples/first.cpp#whole -->\ntext'
expect "misspelt marker is not mended" 1 "write <!-- snippet" --update <<<$'<!--snippet: a.cpp#whole -->\ntext'
expect "unknown argument" 2 "unknown argument '--nope'" --nope <<<"$right"
exit "$failed"
