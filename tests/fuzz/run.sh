#!/bin/sh
# run.sh PROGRAMS SECONDS JOBS RESULTS: the fuzzers in the folder PROGRAMS (build/fuzz/tests/fuzz), JOBS processes side by side for so many
# seconds, each from the corpus in the sources. Findings, and what was learnt, go to the folder RESULTS. Prints how often each
# ran; status 1 if anything was found: a crash, a run of more than 10 s, or more than 2 GB of memory.
here=$(cd "$(dirname "$0")" && pwd)
programs=$1 seconds=$2 jobs=$3 results=$4
[ $# -eq 4 ] && mkdir -p "$results" || { echo "usage: run.sh PROGRAMS SECONDS JOBS RESULTS" >&2; exit 2; }
# Those with the most behind them come more often than the others.
order="ptx ptx_run calls fat_binary ptx ptx_run calls command_line elf tensor_map suppressions tune_file ptx ptx_run calls calls"

fuzz() { # TARGET NUMBER
  work=$results/$1.$2
  mkdir -p "$work"
  dict=
  case $1 in ptx*) dict=-dict=$here/ptx.dict ;; esac
  # Counting how rare each place is takes longer than the calls, where all of the runtime and the machine is instrumented.
  how=
  case $1 in calls | ptx_run) how="-entropic=0 -use_counters=0" ;; esac
  corpus=$here/corpus/$1
  [ -d "$corpus" ] || corpus=$here/corpus/ptx  # of ptx_run
  "$programs/$1_fuzz" $dict $how -seed="$2" -detect_leaks=0 -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 \
    -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="$results/found.$1." "$work" "$corpus" > "$work.log" 2>&1
}

number=0
while [ $number -lt "$jobs" ]; do
  for target in $order; do
    [ -x "$programs/${target}_fuzz" ] || continue
    [ $number -lt "$jobs" ] || break
    number=$((number + 1))
    fuzz $target $number &
  done
  [ $number -gt 0 ] || { echo "there is no fuzzer in $programs" >&2; exit 2; }
done
wait
all=0
for target in $(echo $order | tr ' ' '\n' | sort -u); do
  # One that was stopped by a finding has its count in its last line that begins with a number.
  sum=$(for log in "$results/$target".*.log; do
      [ -e "$log" ] && { grep -a '^stat::number_of_executed_units' "$log" || grep -a '^#[0-9]' "$log" | tail -n 1 | tr -d '#'; }
    done | awk '{ sum += $NF == $2 ? $2 : $1 } END { printf "%d", sum }')
  [ "$sum" -gt 0 ] || continue
  all=$((all + sum))
  printf '%-14s %12d executions, %d found\n' $target "$sum" "$(ls "$results" | grep -c "^found\.$target\.")"
done
found=$(ls "$results" | grep -c '^found\.')
printf '%-14s %12d executions, %d found\n' all $all "$found"
[ "$found" -eq 0 ]
