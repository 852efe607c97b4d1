# interrupt.sh HEDDLE M: whenever a signal comes, the file is there as a whole or not at all.
heddle=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
whole=0 none=0
# At the start, while the kernel runs, and as soon as a part of the file is there.
for when in 0.02 0.1 0.2 part part; do
  rm -f "$folder"/*
  # A background job of a shell without job control ignores SIGINT.
  env --default-signal=INT "$heddle" trace -o "$folder/a.json" matmul --m "$2" --n 512 --k 512 --device sim:sm100 \
    --sms 1 > /dev/null 2>&1 &
  program=$!
  if [ $when = part ]; then
    until [ -n "$(find "$folder" -name 'a.json*' -size +0)" ] || ! kill -0 $program 2> /dev/null; do :; done
  else
    sleep $when
  fi
  kill -s INT $program 2> /dev/null
  wait $program
  case $(ls "$folder") in
    '') none=$((none + 1)) ;;
    a.json)
      whole=$((whole + 1))
      tail -n 1 "$folder/a.json" | grep -qx ']}' || { echo "$when: half a file"; exit 1; } ;;
    *) echo "$when: left behind: $(ls "$folder")"; exit 1 ;;
  esac
done
echo "$whole whole files, $none times none"
[ $none -gt 0 ] && [ $whole -gt 0 ]
