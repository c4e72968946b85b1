#!/usr/bin/env bash
# apart.sh MPIRUN TESTS DEATHS: two hosts, made of network namespaces that a virtual cable joins, with two ranks of Open MPI each,
# over TCP. Runs programs of TESTS there, some of them over a slow link as well, and DEATHS with the cable cut meanwhile: every
# rank must get an error. Prints "skipped: ..." where there are no network namespaces.
set -uo pipefail
mpirun=$1 tests=$2 deaths=$3

skip() {
    echo "skipped: $1"
    exit 0
}
if ((EUID != 0)); then skip "network namespaces need root"; fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # which Open MPI wants to be told
for tool in ip unshare hostname; do
    if ! command -v $tool >/dev/null; then skip "no '$tool' here"; fi
done

a=plait-a-$$ b=plait-b-$$
work=$(mktemp -d)
started=()
clean() {
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    for host in $a $b; do
        # What is left of the ranks, if any: they live in namespaces of this script alone.
        for pid in $(ip netns pids $host 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
        ip netns del $host 2>/dev/null
    done
    rm -rf "$work"
}
trap clean EXIT

if ! { ip netns add $a && ip netns add $b &&
    ip link add pl-a-$$ netns $a type veth peer name pl-b-$$ netns $b &&
    ip -n $a addr add 10.77.0.1/24 dev pl-a-$$ && ip -n $b addr add 10.77.0.2/24 dev pl-b-$$ &&
    ip -n $a link set lo up && ip -n $b link set lo up &&
    ip -n $a link set pl-a-$$ up && ip -n $b link set pl-b-$$ up; } >"$work/log" 2>&1; then
    skip "network namespaces cannot be made here: $(tail -n 1 "$work/log")"
fi

# Each host has a name of its own, too: ranks with one host name would be taken for neighbours.
cat >"$work/on_host" <<END
#!/usr/bin/env bash
case \$1 in 10.77.0.1) namespace=$a ;; *) namespace=$b ;; esac
shift
export TMPDIR=$work/\$namespace
mkdir -p \$TMPDIR
exec ip netns exec \$namespace unshare --uts bash -c 'hostname \$0; eval "\$@"' \$namespace "\$@"
END
chmod +x "$work/on_host"
launch=("$work/on_host" 10.77.0.1 exec "$mpirun" --host 10.77.0.1:2,10.77.0.2:2 -n 4 --mca plm_rsh_agent "$work/on_host"
        --mca btl tcp,self,vader --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24)

run_tests() {
    if ! timeout -k 5 200 "${launch[@]}" "$tests" apart "--test-case='$2'" >"$work/log" 2>&1 </dev/null; then
        cat "$work/log"
        echo "apart.sh: the programs fail $1"
        exit 1
    fi
    grep -E "assertions|ranks" "$work/log"
    echo "programs run $1"
}
run_tests "on two hosts" "*Adam*,*LAMB*,*every collective*,*sequence-parallel*,*processes: pipeline*"
for slow in "netem delay 3ms rate 50mbit" "tbf rate 20mbit burst 16kbit latency 200ms"; do  # whichever the kernel has
    # shellcheck disable=SC2086
    if ip netns exec $a tc qdisc add dev pl-a-$$ root $slow 2>"$work/log"; then
        run_tests "over a slow link: $slow" "*Adam*,*processes: pipeline*"
        ip netns exec $a tc qdisc del dev pl-a-$$ root
        break
    fi
done

"${launch[@]}" "$deaths" cut "$work/said" >"$work/log" 2>&1 </dev/null &
started+=($!)
for ((i = 0; i < 600; ++i)); do  # until all ranks are at work
    if [[ $(cat "$work"/said.*.begun 2>/dev/null | wc -l) == 4 ]]; then break; fi
    sleep 0.1
done
sleep 1
ip -n $a link set pl-a-$$ down
for ((i = 0; i < 300; ++i)); do
    if [[ $(cat "$work"/said.*.end 2>/dev/null | wc -l) == 4 ]]; then break; fi
    sleep 0.1
done
cat "$work"/said.*.end
for ((r = 0; r < 4; ++r)); do
    if ! grep -qE "rank $r survives: plait: .*waited" "$work/said.$r.end"; then
        cat "$work/log"
        echo "apart.sh: rank $r has no error after the cable was cut"
        exit 1
    fi
done
echo "every rank has an error"
