#!/usr/bin/env bash
# deaths.sh HOW RANKS COMMAND...: runs `COMMAND... HOW`, which starts ranks of which rank 1 dies in that way. Fails if that
# hangs, or if nobody learns of it: either each survivor has an error, or the launcher ends all ranks with one.
set -uo pipefail
how=$1 ranks=$2
shift 2

limit=60
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
output=$(timeout -k 5 $limit "$@" "$how" "$said/rank" 2>&1 </dev/null)
code=$?
output+=$'\n'$(cat "$said"/rank.*.end 2>/dev/null)  # launchers lose some of what ranks print last
echo "$output"
if ((SECONDS >= limit)); then
    echo "deaths.sh: some rank hangs"
    exit 1
fi
survivors=0
for ((r = 0; r < ranks; ++r)); do
    if ((r != 1)) && grep -qE "rank $r survives: plait: .*(rank 1|waited)" <<<"$output"; then survivors=$((survivors + 1)); fi
done
if ((survivors == ranks - 1)); then
    echo "every other rank has an error"
elif ((code != 0)); then
    echo "the launcher ends all ranks with an error"
else
    echo "deaths.sh: only $survivors ranks have an error, and the launcher has none"
    exit 1
fi
