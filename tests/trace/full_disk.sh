# full_disk.sh HEDDLE: a file that finds no room is an error, and no part of it stays; the one before it does.
heddle=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo before > "$folder/a.html"
# A limit on the size of files stands for a disk that is full; the shell ignores the signal that comes with it.
said=$(trap '' XFSZ; ulimit -f 8; "$heddle" trace -o "$folder/a.html" tile_copy 2>&1)
status=$?
if [ $status -ne 2 ]; then
  echo "status $status: $said"
  exit 1
fi
case $said in
  *"a.html' cannot be written: File too large"*) ;;
  *) echo "$said"; exit 1 ;;
esac
if [ "$(ls "$folder")" != a.html ] || [ "$(cat "$folder/a.html")" != before ]; then
  ls -l "$folder"
  exit 1
fi
