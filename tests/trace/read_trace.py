# SPDX-License-Identifier: Apache-2.0
"""Reads a trace as somebody would who has never seen heddle, and says what is wrong with it.

    read_trace.py FILE.json|FILE.html|FILE.svg [--finding CODE] [--involved ROLE] [--remark TEXT] [--processes N]
                 [--tiles N]
"""
import argparse
import html.parser
import json
import re
import sys
import xml.etree.ElementTree as tree


def fail(text):
    sys.exit(f"read_trace: {text}")


def check(holds, text):
    if not holds:
        fail(text)


def check_no_overlap(spans, what):
    """Spans of one lane follow one another."""
    end = 0
    for begin, length in sorted(spans):
        check(length > 0, f"{what}: a span at {begin} lasts {length}")
        check(begin >= end, f"{what}: a span begins at {begin}, before the one that ends at {end} is over")
        end = begin + length


class Tiles:
    """Which tiles are named, and from which use of a ring the steps of each are counted."""

    def __init__(self):
        self.names, self.first, self.without = set(), {}, set()

    def add(self, lane, label, tile, use, step):
        check(step is None or (tile is not None and use is not None), f"{label}: a step without a tile or a use")
        if tile is None:
            if re.fullmatch(r"load .*\[\d+\]|wgmma|tcgen05.*", label):
                self.without.add(label)
            return
        check(re.fullmatch(r"\d+,\d+", tile), f"{label}: the tile is '{tile}'")
        self.names.add(tile)
        if step is not None:
            ring = re.sub(r".* (?:of|load) |\[.*", "", label)
            self.first.setdefault((lane, tile, ring), set()).add(use - step)

    def check_count(self, options):
        for (lane, tile, ring), first in self.first.items():
            check(len(first) == 1, f"tile {tile} in lane {lane}: its steps of {ring} are counted from uses {sorted(first)}")
        if options.tiles is not None:
            check(len(self.names) >= options.tiles, f"{len(self.names)} tiles; {options.tiles} or more expected")
            check(not self.without, f"of no tile: {sorted(self.without)}")


def read_json(path, options):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    check(trace["otherData"]["unit"] == "cycles", "the unit is not cycles")
    events = trace["traceEvents"]
    threads, processes, lanes, flows, tiles = {}, {}, {}, {}, Tiles()
    copies = mmas = 0
    for event in events:
        kind = event["ph"]
        if kind == "M":
            if event["name"] == "process_name":
                processes[event["pid"]] = event["args"]["name"]
            if event["name"] == "thread_name":
                threads[event["pid"], event["tid"]] = event["args"]["name"]
        elif kind == "X":
            lane = event["pid"], event["tid"]
            check(lane in threads, f"a span in lane {lane}, which has no name")
            lanes.setdefault(lane, []).append((event["ts"], event["dur"]))
            names = event["args"]
            tiles.add(lane, event["name"], names.get("tile"), names.get("use"), names.get("step"))
            if event["cat"] == "copy" and not event["name"].startswith("request"):
                copies += event["args"]["count"]
            if event["cat"] == "multiply" and not event["name"].startswith("tcgen05.cp"):
                mmas += event["args"]["count"]
        elif kind in "sf":
            flows.setdefault(event["id"], {})[kind] = event
        else:
            fail(f"an event of a kind that nobody expects: {kind}")
    check(lanes, "there is no span")
    for lane, spans in lanes.items():
        check_no_overlap(spans, threads[lane])
    for number, flow in flows.items():
        check(set(flow) == {"s", "f"}, f"flow {number} has no beginning or no end")
        check(flow["s"]["ts"] <= flow["f"]["ts"], f"flow {number} goes back in time")
        for event in flow.values():
            inside = [1 for begin, length in lanes[event["pid"], event["tid"]] if begin <= event["ts"] < begin + length]
            check(inside, f"flow {number} touches no span")
    check(flows, "nothing ended a wait")
    tiles.check_count(options)
    launches = trace["otherData"]["launches"]
    check(sum(launch["copies"] for launch in launches) == copies, f"{copies} copies are drawn, not as many as were made")
    check(sum(launch["mmas"] for launch in launches) == mmas, f"{mmas} multiplications are drawn, not as many as were made")
    if options.processes is not None:
        check(len(processes) == options.processes, f"{len(processes)} processes; {options.processes} expected")
    check_finding(" ".join(launch["finding"] for launch in launches), options)
    check_remark(trace["otherData"]["remark"], options)
    return sum(map(len, lanes.values()))


class Scripts(html.parser.HTMLParser):
    """What a page holds, and what it asks a network for."""

    def __init__(self):
        super().__init__()
        self.data, self.links, self.is_data = "", [], False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.is_data = tag == "script" and attributes.get("id") == "data"
        self.links += [value for name, value in attributes.items() if name in ("src", "href") and value != "data:,"]

    def handle_endtag(self, tag):
        self.is_data = False

    def handle_data(self, data):
        if self.is_data:
            self.data += data


def read_html(path, options):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Scripts()
    page.feed(text)
    check(not page.links, f"the page asks for {page.links}")
    check("http" not in re.sub(r"<script type=\"application/json\".*?</script>", "", text, flags=re.S),
          "the page names an address")
    trace = json.loads(page.data)
    texts, count = trace["texts"], 0
    for launch in trace["launches"]:
        spans = launch["spans"]
        lengths = {len(column) for column in spans.values()}
        check(len(lengths) == 1, "columns of different lengths")
        tiles = Tiles()
        for lane, label, *numbers in zip(*(spans[name] for name in ("lane", "label", "tile", "use", "step"))):
            tile, use, step = (None if number < 0 else number for number in numbers)
            tiles.add(lane, texts[label], None if tile is None else texts[tile], use, step)
        tiles.check_count(options)
        lanes = {}
        for begin, length, lane in zip(spans["begin"], spans["length"], spans["lane"]):
            lanes.setdefault(lane, []).append((begin, length))
        for lane, of_lane in lanes.items():
            check_no_overlap(of_lane, texts[launch["lanes"][lane][3]])
            check(of_lane == sorted(of_lane), "spans of a lane are not in order")
        for span, cause in enumerate(spans["cause"]):
            if spans["kind"][span] == 2 and cause >= 0:
                check(spans["begin"][cause] < spans["begin"][span] + spans["length"][span],
                      f"span {span} was ended by one that began later")
        check_shares(launch, texts)
        check(launch["critical"], "there is no critical path")
        count += len(spans["begin"])
    check_finding(" ".join(launch["finding"] for launch in trace["launches"]), options)
    check_remark(trace["remark"], options)
    if options.involved:
        involved = {texts[lane[2]] for launch in trace["launches"] for lane in launch["lanes"] if lane[4]}
        check(options.involved in involved, f"{involved} are marked; {options.involved} expected")
    return count


def check_shares(launch, texts):
    """The parts of a role add up to all of it, and are those of its warps' spans."""
    sums = {}
    for role, _, _, _, percent in launch["shares"]:
        sums[role] = sums.get(role, 0) + percent
    roles = {lane[2] for lane in launch["lanes"] if lane[0] == 0}
    check(set(sums) == roles, "a role has no share")
    for role, percent in sums.items():
        check(abs(percent - 100) < 0.001, f"the shares of {texts[role]} add up to {percent}")
    spans = launch["spans"]
    waits = sum(length for length, kind in zip(spans["length"], spans["kind"]) if kind == 2)
    check(waits == sum(share[3] for share in launch["shares"] if share[2]), "shares of waits are not those of the spans")


def check_finding(finding, options):
    wanted = options.finding or ""
    check(bool(finding.strip()) == bool(wanted), f"the finding is '{finding}'")
    check(f"[{wanted}]" in finding or not wanted, f"the finding is '{finding}'; [{wanted}] expected")


def check_remark(remark, options):
    check((options.remark or "") in remark and bool(remark) == bool(options.remark), f"the remark is '{remark}'")


def read_svg(path, options):
    root = tree.parse(path).getroot()
    check(root.tag == "{http://www.w3.org/2000/svg}svg", "the root is no svg")
    rectangles = root.findall("{http://www.w3.org/2000/svg}rect")
    check(len(rectangles) > 20, f"{len(rectangles)} rectangles")
    for one in rectangles[1:]:
        check(float(one.get("width")) > 0, "a rectangle without a width")
    title = root.find("{http://www.w3.org/2000/svg}text").text
    check((options.finding or "") in title, f"the title is '{title}'")
    return len(rectangles)


parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--finding")
parser.add_argument("--involved")
parser.add_argument("--remark")
parser.add_argument("--processes", type=int)
parser.add_argument("--tiles", type=int)
arguments = parser.parse_args()
reader = {"json": read_json, "html": read_html, "svg": read_svg}[arguments.file.rsplit(".", 1)[1]]
print(f"{arguments.file}: {reader(arguments.file, arguments)} spans, as they must be")
