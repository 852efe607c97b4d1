# faults.sh HEDDLE PROGRAM SCRATCH [ROUNDS]: disks that are full, outputs that are closed, and signals at random moments. Each
# run ends with a status; nothing is half written, and no process is left.
heddle=$1 program=$2 scratch=$3 rounds=${4-12}
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }

# A file of more than 512 bytes is as a disk that is full.
(trap '' XFSZ; ulimit -f 1; "$heddle" exec --trace small.html "$program" > out 2> err)
status=$?
[ $status -eq 2 ] || wrong "a trace on a full disk: status $status"
[ -z "$(ls | grep small)" ] || wrong "a trace on a full disk is left in part: $(ls)"
(trap '' XFSZ; ulimit -f 0; "$heddle" check tile_copy --schedules 2 > out 2> err)
status=$?
[ $status -eq 1 ] || wrong "a result on a full disk: status $status"

# Outputs that are closed: a status, and never the signal of an abort.
for closed in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-' '> /dev/full' '> /dev/full 2>&1'; do
  for command in "info" "check tile_copy --schedules 2 --json" "check tile_copy --no-such-option --json" "exec '$program'"; do
    eval "'$heddle' $command > out 2> err $closed"
    status=$?
    [ $status -le 2 ] || [ $status -eq 7 ] || wrong "$command $closed: status $status"
  done
done
"$heddle" check tile_copy --schedules 200 2> /dev/null | true

# Signals, each after another time.
round=0
while [ $round -lt "$rounds" ]; do
  for signal in TERM INT; do
    # A shell without jobs lets its background processes ignore SIGINT: env takes that back.
    env --default-signal=INT "$heddle" exec --schedules 40 --trace-events 1000 "$program" > out 2> err &
    other=$!
    env --default-signal=INT "$heddle" trace check --out "signal$round.html" > out2 2> err2 &
    drawing=$!
    sleep "0.$((round * 7 % 10))$((round * 3 % 10))"
    kill -s $signal $other $drawing 2> /dev/null
    for process in $other $drawing; do
      wait $process
      status=$?
      case $status in 0 | 1 | 2 | 7 | 130 | 143) ;; *) wrong "$signal in round $round: status $status" ;; esac
    done
  done
  round=$((round + 1))
done
for file in signal*.html; do
  [ -e "$file" ] || continue
  tail -c 100 "$file" | grep -q '</html>' || wrong "$file is written in part"
done
[ -z "$(ls | grep part)" ] || wrong "parts are left: $(ls | grep part)"
exit $failed
