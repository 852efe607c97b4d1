# SPDX-License-Identifier: Apache-2.0
"""Opens a page in a headless Chromium and drives it by the DevTools protocol, over a pipe.

    browser.py CHROMIUM FILE.html [--screenshot FILE.png] [--dark] [--large]

With --large the page gets its spans again and again until it has 200,000, and only the time that it takes to open is
looked at.
"""
import argparse
import base64
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time


class Browser:
    """Commands and answers are JSON, each ended by a zero byte; the browser reads its descriptor 3 and writes 4."""

    def __init__(self, program, folder):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", "--window-size=1500,950", f"--user-data-dir={folder}",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update"]
        ends = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self.process = subprocess.Popen(["bash", "-c", ends, "browser", *command],
                                        pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.events = b"", 0, None, []

    def receive(self, timeout):
        deadline = time.monotonic() + timeout
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser says nothing")
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(60)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open_tab(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression, seconds=30):
        deadline = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def frame(self):
        """Until what was asked for has been drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def close(self):
        self.process.terminate()
        self.process.wait()


def check(holds, text):
    if not holds:
        sys.exit(f"browser: {text}")


LARGE = 200_000


def enlarged(path, folder):
    """The page with what happens in it repeated, one time after the other."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    mark = '<script type="application/json" id="data">'
    begin = text.index(mark) + len(mark)
    end = text.index("</script>", begin)
    trace = json.loads(text[begin:end])
    launch = trace["launches"][trace["main"]]
    spans, count = launch["spans"], len(launch["spans"]["begin"])
    times = LARGE // count + 1
    order = sorted(range(count * times), key=lambda i: (spans["lane"][i % count], i))
    place = {i: n for n, i in enumerate(order)}
    many = {name: [column[i % count] for i in order] for name, column in spans.items()}
    many["begin"] = [spans["begin"][i % count] + i // count * launch["cycles"] for i in order]
    causes = spans["cause"]
    many["cause"] = [-1 if causes[i % count] < 0 else place[causes[i % count] + i // count * count] for i in order]
    launch["spans"] = many
    launch["cycles"] *= times
    launch["critical"] = [place[i + t * count] for t in range(times) for i in launch["critical"]]
    large = pathlib.Path(folder) / "large.html"
    data = json.dumps(trace).replace("<", "\\u003c")
    large.write_text(text[:begin] + data + text[end:], encoding="utf-8")
    return large


def check_page(browser):
    lanes = browser.value("timeline.launch.lanes.length")
    rows = browser.value("timeline.rows.filter(row => row.lane >= 0).length")
    check(lanes > 5 and rows > 5, f"{rows} of {lanes} lanes are shown")
    # Something is drawn: many colours on the canvas.
    colours = browser.value("""(() => {
      const c = document.getElementById('lanes');
      const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
      for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
      return seen.size;
    })()""")
    check(colours > 6, f"the canvas has {colours} colours")

    # The table: each role's parts add up to all of its time.
    sums = browser.value("""(() => {
      const sums = {};
      for (const row of document.querySelectorAll('#shares tr'))
        sums[row.dataset.role] = (sums[row.dataset.role] || 0) + Number(row.dataset.percent);
      return sums;
    })()""")
    check(sums and all(abs(sum_ - 100) < 0.001 for sum_ in sums.values()), f"the table adds up to {sums}")

    # A wait whose end somebody brought about, and that can be seen.
    box = browser.value("(({left, top}) => ({left, top}))(document.getElementById('lanes').getBoundingClientRect())")
    browser.key("f")
    browser.frame()
    wait = browser.value("""(() => {
      const {launch, rows} = timeline;
      const shown = new Set(rows.map(row => row.lane));
      let best = -1;
      for (let i = 0; i < launch.count; ++i) {
        if (launch.kind[i] !== 2 || launch.cause[i] < 0 || !shown.has(launch.lane[i])) continue;
        if (timeline.middleOf(i) > document.getElementById('lanes').clientHeight - 4) continue;
        if (best < 0 || launch.end[i] - launch.begin[i] > launch.end[best] - launch.begin[best]) best = i;
      }
      return best;
    })()""")
    check(wait >= 0, "no wait can be seen")
    at = browser.value(f"""({{x: timeline.xOf((timeline.launch.begin[{wait}] + timeline.launch.end[{wait}]) / 2),
                             y: timeline.middleOf({wait})}})""")
    x, y = box["left"] + at["x"], box["top"] + at["y"]

    browser.mouse("mouseMoved", x, y)
    browser.frame()
    check(browser.value("timeline.hovered") == wait, "hovering finds another span")
    check("waits for" in browser.value("document.getElementById('tip').hidden ? '' : tip.textContent"),
          "no tip says what is waited for")

    browser.click(x, y)
    browser.frame()
    check(browser.value("timeline.selected") == wait, "a click selects another span")
    check("ended by" in browser.value("selected.textContent"), "what ended the wait is not told")
    cause = browser.value(f"timeline.launch.cause[{wait}]")
    browser.key("c")
    check(browser.value("timeline.selected") == cause, "C does not lead to the cause")

    length = "timeline.view.end - timeline.view.begin"
    before = browser.value(length)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    browser.frame()
    by_wheel = browser.value(length)
    check(by_wheel < 0.8 * before, f"the wheel changes what is seen from {before} to {by_wheel} cycles")
    browser.key("w")
    browser.frame()
    by_key = browser.value(length)
    check(by_key < 0.8 * by_wheel, f"W changes what is seen from {by_wheel} to {by_key} cycles")
    begin = browser.value("timeline.view.begin")
    browser.key("d")
    browser.frame()
    check(browser.value("timeline.view.begin") > begin, "D does not pan")
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", x + 120, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x + 120, y, button="left", clickCount=1)
    browser.frame()
    check(browser.value("timeline.view.begin") < begin + by_key, "dragging does not pan")

    browser.key("/")
    check(browser.value("document.activeElement.id") == "search", "/ does not lead to the search")
    label = browser.value(f"timeline.describe({wait}).head.replace('waits for ', '')")
    browser.call("Input.insertText", text=label)
    found = browser.value("timeline.matches && timeline.matches.count")
    check(found and found > 0, f"the search for '{label}' finds {found}")
    check(str(found) in browser.value("document.getElementById('found').textContent").replace(",", ""),
          "how many were found is not told")
    browser.key("Escape")
    check(browser.value("timeline.matches") is None, "Escape leaves the search")

    tile = browser.value("""(() => {
      const {launch, describe} = timeline, i = launch.tile.findIndex((tile, i) => tile >= 0 && launch.step[i] >= 0);
      if (i < 0) return null;
      const same = (j) => launch.tile[j] === launch.tile[i];
      return {fact: describe(i).facts.find(fact => fact.startsWith('tile ')), step: launch.step[i],
              spans: Array.from(launch.tile.keys()).filter(same).length,
              steps: Array.from(launch.tile.keys()).filter(j => same(j) && launch.step[j] === launch.step[i]).length};
    })()""")
    if tile:
        name, step = tile["fact"].split(", step ")
        check(step == str(tile["step"]), f"hovering tells '{tile['fact']}'")
        for query, expected in ((name, tile["spans"]), (f"{name} step {step}", tile["steps"])):
            browser.key("/")
            browser.call("Input.insertText", text=query)
            found = browser.value("timeline.matches && timeline.matches.count")
            check(found == expected, f"the search for '{query}' finds {found}, not {expected}")
            browser.key("Escape")

    browser.value("document.getElementById('critical').click()")
    check(browser.value("document.getElementById('critical').getAttribute('aria-pressed')") == "true",
          "the critical path is not shown")
    browser.key("f")
    browser.frame()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("browser")
    parser.add_argument("file")
    parser.add_argument("--screenshot")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(options.browser, folder)
        try:
            browser.open_tab()
            if options.dark:
                browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
            file = enlarged(options.file, folder) if options.large else pathlib.Path(options.file)
            url = file.resolve().as_uri()
            start = time.monotonic()
            browser.call("Page.navigate", url=url)
            browser.wait_for("typeof timeline === 'object' && document.readyState === 'complete'", 60)
            browser.frame()
            took = time.monotonic() - start
            spans = browser.value("timeline.launch.count")
            print(f"{options.file}: {spans} spans, open after {took:.2f} s")
            if options.large:
                check(spans >= LARGE, f"{spans} spans are no large trace")
                check(took < 5, f"{spans} spans took {took:.1f} s to open")
                browser.key("w")
                browser.frame()
            elif not options.screenshot:
                check_page(browser)
            if options.screenshot:
                image = browser.call("Page.captureScreenshot", format="png")["data"]
                pathlib.Path(options.screenshot).write_bytes(base64.b64decode(image))
            for event in browser.events:
                method, parameters = event.get("method"), event.get("params", {})
                check(method != "Runtime.exceptionThrown", f"an error: {parameters}")
                check(method != "Runtime.consoleAPICalled" or parameters["type"] != "error", f"an error: {parameters}")
                check(method != "Log.entryAdded" or parameters["entry"]["level"] != "error", f"an error: {parameters}")
                if method == "Network.requestWillBeSent":
                    asked = parameters["request"]["url"]
                    check(asked in (url, "data:,"), f"the page asks for {asked}")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
