# signal.sh HEDDLE: `heddle exec --schedules` becomes the program, so that a signal to it ends the program.
heddle=$1
mark=$(mktemp)
for signal in TERM HUP; do
  : > "$mark"
  "$heddle" exec --schedules 3 sh -c "echo \$\$ >> '$mark'; exec sleep 30" &
  outer=$!
  tries=0
  until [ -s "$mark" ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  program=$(cat "$mark")
  kill -s $signal "$outer"
  wait "$outer"
  status=$?
  if [ "$program" != "$outer" ] || [ $status -lt 128 ]; then
    echo "$signal: status $status of process $outer, and the program was '$program'"
    kill "$program" 2> /dev/null
    rm -f "$mark"
    exit 1
  fi
done
rm -f "$mark"
