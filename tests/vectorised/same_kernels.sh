#!/usr/bin/env bash
# same_kernels.sh COMPILER FILE INCLUDE FOLDER: compiles FILE to assembly with and without -DTRACED, and compares the kernels'
# code and that of the loops that call them, function by function. (What is around these is inlined differently when the
# rest of a file changes.)
set -euo pipefail
compiler=$1 file=$2 include=$3 folder=$4

# Prints the functions, a line each: name, then code with labels numbered anew.
functions() {
    awk '
    /^_ZNK?5plait(7kernels|4host(9combining|11tile_inputs|8map_pass9run_tiles))[^ ]*:$/ {
        name = substr($0, 1, length($0) - 1); code = ""; labels = 0; split("", number); next
    }
    name != "" && index($0, "\t.size\t" name) == 1 { print name " " code; name = ""; next }
    name != "" && !/^[ \t]*#/ {
        line = $0; out = ""
        while (match(line, /\.L[A-Z]*[0-9]+/)) {
            label = substr(line, RSTART, RLENGTH)
            if (!(label in number)) { number[label] = ++labels }
            out = out substr(line, 1, RSTART - 1) "L" number[label]
            line = substr(line, RSTART + RLENGTH)
        }
        code = code out line ";"
    }' "$1" | sort
}

for variant in plain traced; do
    flag=-UTRACED
    if [[ $variant == traced ]]; then flag=-DTRACED; fi
    "$compiler" -std=c++20 -O2 -fno-math-errno -I "$include" "$flag" -S -o "$folder/$variant.s" "$file"
    functions "$folder/$variant.s" >"$folder/$variant.functions"
done
# A helper that one of the two has inlined everywhere is no function of its own there.
join -j 1 -o 0 "$folder/plain.functions" "$folder/traced.functions" | uniq >"$folder/both"
for variant in plain traced; do
    join -j 1 "$folder/both" "$folder/$variant.functions" >"$folder/$variant.both"
done
count=$(wc -l <"$folder/both")
if ((count < 5)) || ! grep -q tile_kernel "$folder/both"; then
    echo "only $count functions found in both plain.s and traced.s in $folder" >&2
    exit 1
fi
if ! cmp -s "$folder/plain.both" "$folder/traced.both"; then
    echo "these functions differ when runs are traced:" >&2
    diff <(cut -c 1-400 "$folder/plain.both") <(cut -c 1-400 "$folder/traced.both") >&2
    exit 1
fi
echo "$count functions are the same"
