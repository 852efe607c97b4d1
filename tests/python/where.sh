#!/bin/sh
# where.sh PYTHON PACKAGE COMMAND...: runs the command where the interpreter has the package.
python=$1 package=$2
shift 2
if ! "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$package') is None)" 2>/dev/null; then
  echo "skipped: $python has no $package; HEDDLE_TEST_PYTHON names another"
  exit 77
fi
exec "$@"
