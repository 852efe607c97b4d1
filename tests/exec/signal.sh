# signal.sh HEDDLE: a signal that ends `heddle exec --schedules` ends the program that it runs, and no other is started.
heddle=$1
mark=$(mktemp)
for signal in TERM INT HUP; do
  : > "$mark"
  # A background job of a shell without job control ignores SIGINT; the program must not inherit that.
  "$heddle" exec --schedules 3 sh -c "trap - INT; echo \$\$ >> '$mark'; exec sleep 30" &
  outer=$!
  tries=0
  until [ -s "$mark" ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  program=$(cat "$mark")
  kill -s $signal "$outer"
  wait "$outer"
  status=$?
  if kill -0 "$program" 2> /dev/null; then
    echo "$signal: the program still runs"
    kill "$program"
    rm -f "$mark"
    exit 1
  fi
  if [ "$(wc -l < "$mark")" -ne 1 ] || [ $status -lt 128 ]; then
    echo "$signal: status $status, $(wc -l < "$mark") programs were started"
    rm -f "$mark"
    exit 1
  fi
done
rm -f "$mark"
