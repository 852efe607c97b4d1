"use strict";
// Draws the trace that is in the element #data: lanes on a canvas, of which only what can be seen is touched.
(() => {
  const trace = JSON.parse(document.getElementById("data").textContent);
  const el = (id) => document.getElementById(id);
  const text = (id) => trace.texts[id];
  const kKinds = ["work", "hold", "wait", "copy", "multiply", "fill", "full", "read", "phase"];
  const kMeaning = {
    work: "works", hold: "works, holding a stage", wait: "waits", copy: "copy in flight",
    multiply: "multiplication in flight", fill: "stage: being filled", full: "stage: full, not taken",
    read: "stage: in use", phase: "phase of a barrier",
  };
  const WAIT = 2, NONE = -1;
  const kHeights = [19, 10, 10, 13, 11];  // by kind of lane
  const kGutter = 176, kAxis = 24, kHeader = 22;

  const canvas = el("lanes"), context = canvas.getContext("2d"), tip = el("tip");
  let launch = null;      // what is shown
  let rows = [];          // from top to bottom
  let rowOf = [];         // by lane
  let view = { begin: 0, end: 1, top: 0 };
  let selected = NONE, hovered = NONE;
  let matches = null;     // spans and lanes that the search finds
  let isCritical = false, critical = null;
  const folded = new Set();
  let colors = {};
  let isDrawing = false;

  function readColors() {
    const style = getComputedStyle(document.documentElement);
    colors = {};
    for (const name of [...kKinds, "back", "panel", "line", "text", "soft", "bad", "bad-back", "critical", "accent"]) {
      colors[name] = style.getPropertyValue("--" + name).trim();
    }
  }

  function unpack(source) {
    const s = source.spans, count = s.begin.length;
    const result = { ...source, count, begin: Float64Array.from(s.begin), end: new Float64Array(count),
      lane: Uint32Array.from(s.lane), label: Uint32Array.from(s.label), place: Uint32Array.from(s.place),
      cause: Int32Array.from(s.cause), use: Int32Array.from(s.use),
      tile: Int32Array.from(s.tile), step: Int32Array.from(s.step), times: Uint32Array.from(s.count),
      bytes: Float64Array.from(s.bytes), kind: Uint8Array.from(s.kind), open: Uint8Array.from(s.open) };
    for (let i = 0; i < count; ++i) result.end[i] = s.begin[i] + s.length[i];
    result.first = new Uint32Array(source.lanes.length + 1);
    for (let i = 0; i < count; ++i) ++result.first[result.lane[i] + 1];
    for (let l = 0; l < source.lanes.length; ++l) result.first[l + 1] += result.first[l];
    return result;
  }

  function makeRows() {
    rows = [];
    rowOf = new Array(launch.lanes.length).fill(NONE);
    let y = 0, cta = NONE, group = NONE;
    const ctas = new Set(launch.lanes.map((lane) => lane[1])).size;
    launch.lanes.forEach(([kind, laneCta, laneGroup, label, involved], l) => {
      if (laneCta !== cta && ctas > 1) {
        rows.push({ y, height: kHeader, cta: laneCta, lane: NONE });
        y += kHeader;
      }
      const isNew = laneCta !== cta || laneGroup !== group;
      cta = laneCta;
      group = laneGroup;
      if (folded.has(laneCta)) return;
      if (isNew) y += 5;
      rowOf[l] = rows.length;
      rows.push({ y, height: kHeights[kind], cta: laneCta, lane: l, kind, involved, isNew,
        group: text(laneGroup), label: text(label) });
      y += kHeights[kind] + 1;
    });
    rows.height = y + 8;
  }

  const width = () => canvas.clientWidth - kGutter;
  const xOf = (time) => kGutter + (time - view.begin) / (view.end - view.begin) * width();
  const timeAt = (x) => view.begin + (x - kGutter) / width() * (view.end - view.begin);

  function clampView() {
    const length = Math.max(view.end - view.begin, 4);
    const most = launch.cycles * 1.02 + 1;
    if (length >= most) {
      view.begin = 0;
      view.end = most;
    } else {
      view.begin = Math.min(Math.max(view.begin, -0.01 * most), most - length);
      view.end = view.begin + length;
    }
    view.top = Math.max(0, Math.min(view.top, rows.height - (canvas.clientHeight - kAxis)));
  }

  function redraw() {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => { isDrawing = false; draw(); });
  }

  // The first span of a lane that ends after a time.
  function firstAfter(lane, time) {
    let low = launch.first[lane], high = launch.first[lane + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (launch.end[middle] > time) high = middle; else low = middle + 1;
    }
    return low;
  }

  function niceStep(length) {
    const rough = length / Math.max(2, width() / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
    return Math.max(1, step);
  }

  function drawAxis() {
    context.fillStyle = colors.back;
    context.fillRect(0, 0, canvas.clientWidth, kAxis);
    context.fillStyle = colors.soft;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    const step = niceStep(view.end - view.begin);
    for (let t = Math.ceil(view.begin / step) * step; t <= view.end; t += step) {
      const x = xOf(t);
      if (x < kGutter) continue;
      context.fillText(t.toLocaleString("en"), x, 15);
      context.fillRect(Math.round(x), kAxis - 5, 1, 5);
    }
    context.textAlign = "left";
    context.fillText("cycles", 10, 15);
    context.fillRect(0, kAxis - 1, canvas.clientWidth, 1);
  }

  function drawSpan(i, x, y, w, h) {
    const kind = launch.kind[i];
    context.fillStyle = colors[kKinds[kind]];
    const isFaint = matches !== null && !matches.spans[i];
    context.globalAlpha = isFaint ? 0.18 : 1;
    if (kind === WAIT) {
      // Waiting is a thin line in a pale field: what matters is the rest.
      context.globalAlpha *= 0.35;
      context.fillRect(x, y, w, h);
      context.globalAlpha = isFaint ? 0.18 : 1;
      context.fillRect(x, y + h - 3, w, 3);
    } else {
      context.fillRect(x, y, w, h);
    }
    if (w > 34 && h > 9) {
      const use = launch.use[i] >= 0 ? " #" + launch.use[i] : "";
      context.save();
      context.beginPath();
      context.rect(x, y, w - 3, h);
      context.clip();
      context.fillStyle = kind === WAIT || kind >= 5 ? colors.text : "#fff";
      context.font = (h > 12 ? 11 : 10) + "px system-ui, sans-serif";
      const times = launch.times[i] > 1 ? launch.times[i] + " × " : "";
      context.fillText(times + text(launch.label[i]) + use, Math.max(x, kGutter) + 4, y + h / 2 + 4);
      context.restore();
    }
    context.globalAlpha = 1;
    if (w > 3 && launch.open[i]) {
      context.fillStyle = colors.bad;
      context.fillRect(x + w - 2, y, 2, h);
    }
  }

  function drawLane(row, y) {
    const perPixel = (view.end - view.begin) / width();
    const last = launch.first[row.lane + 1];
    for (let i = firstAfter(row.lane, view.begin); i < last && launch.begin[i] < view.end;) {
      const x = Math.max(xOf(launch.begin[i]), kGutter), right = Math.min(xOf(launch.end[i]), canvas.clientWidth);
      const w = right - x;
      drawSpan(i, x, y, Math.max(w - (w > 4 ? 1 : 0), 1), row.height);
      if (critical && critical[i]) {
        context.fillStyle = colors.critical;
        context.fillRect(x, y, Math.max(w, 1), 3);
      }
      if (i === selected || i === hovered) {
        context.strokeStyle = i === selected ? colors.text : colors.soft;
        context.lineWidth = i === selected ? 2 : 1;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1, 2), row.height - 1);
      }
      // Of many in one pixel one is drawn.
      i = w < 1 ? Math.max(i + 1, firstAfter(row.lane, launch.begin[i] + perPixel)) : i + 1;
    }
  }

  function middleOf(i) {
    const row = rows[rowOf[launch.lane[i]]];
    return row ? kAxis + row.y - view.top + row.height / 2 : NONE;
  }

  // From what ended a wait to its end.
  function drawArrow(i) {
    const cause = launch.cause[i];
    if (cause < 0) return;
    const from = middleOf(cause), to = middleOf(i);
    if (from === NONE || to === NONE) return;
    const isWait = launch.kind[i] === WAIT;
    const time = isWait ? Math.min(launch.end[i], launch.end[cause]) : launch.begin[i];
    const x0 = Math.max(kGutter, xOf(time)), x1 = Math.max(kGutter, xOf(isWait ? launch.end[i] : launch.begin[i]));
    context.strokeStyle = context.fillStyle = colors.critical;
    context.lineWidth = 1.6;
    context.beginPath();
    context.moveTo(x0, from);
    context.bezierCurveTo(x0 + 26, from, x1 + 26, to, x1, to);
    context.stroke();
    context.beginPath();
    context.arc(x1, to, 3.5, 0, 7);
    context.fill();
  }

  function drawGutter(row, y) {
    context.textAlign = "left";
    if (row.lane === NONE) {
      context.fillStyle = colors.panel;
      context.fillRect(0, y, canvas.clientWidth, row.height);
      context.fillStyle = colors.text;
      context.font = "600 12px system-ui, sans-serif";
      context.fillText((folded.has(row.cta) ? "▸ CTA " : "▾ CTA ") + row.cta, 10, y + 15);
      return;
    }
    if (row.involved) {
      context.fillStyle = colors["bad-back"];
      context.fillRect(0, y, kGutter - 1, row.height);
    }
    context.font = (row.involved || row.isNew ? "600 " : "") + "11px system-ui, sans-serif";
    context.fillStyle = row.involved ? colors.bad : colors.text;
    if (row.isNew) context.fillText(clipped(row.group, row.kind === 1 || row.kind === 2 ? 156 : 92), 10, y + Math.min(row.height, 14) - 2);
    if (row.height < 13 && !row.isNew) return;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = row.involved ? colors.bad : colors.soft;
    context.textAlign = "right";
    if (row.kind === 0 || row.kind >= 3) {
      context.fillText(clipped(row.label, row.isNew ? 70 : 156), kGutter - 10, y + Math.min(row.height, 14) - 2);
    }
  }

  function clipped(label, room) {
    while (label.length > 3 && context.measureText(label).width > room) label = label.slice(0, -2) + "…";
    return label;
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    clampView();
    context.fillStyle = colors.back;
    context.fillRect(0, 0, w, h);
    const visible = rows.filter((row) => row.y + row.height > view.top && row.y < view.top + h);
    const step = niceStep(view.end - view.begin);
    context.fillStyle = colors.line;
    context.globalAlpha = 0.5;
    for (let t = Math.ceil(view.begin / step) * step; t <= view.end; t += step) {
      if (xOf(t) >= kGutter) context.fillRect(Math.round(xOf(t)), kAxis, 1, h);
    }
    context.globalAlpha = 1;
    for (const row of visible) if (row.lane !== NONE) drawLane(row, kAxis + row.y - view.top);
    context.fillStyle = colors.back;
    context.fillRect(0, kAxis, kGutter - 1, h);
    context.fillStyle = colors.line;
    context.fillRect(kGutter - 1, kAxis, 1, h);
    for (const row of visible) drawGutter(row, kAxis + row.y - view.top);
    if (selected !== NONE) drawArrow(selected);
    drawAxis();
  }

  function laneName(l) {
    const [kind, cta, group, label] = launch.lanes[l];
    const where = new Set(launch.lanes.map((lane) => lane[1])).size > 1 ? "CTA " + cta + ", " : "";
    return where + (kind === 3 ? "" : text(group) + ", ") + text(label);
  }

  const tileOf = (i) => "tile " + text(launch.tile[i]);
  const number = (value) => value.toLocaleString("en");

  function describe(i) {
    const kind = kKinds[launch.kind[i]], label = text(launch.label[i]);
    const head = kind === "wait" ? "waits for " + label : kind === "hold" ? "works, holds " + label : label;
    const facts = [`cycles ${number(launch.begin[i])} to ${number(launch.end[i])} (${number(launch.end[i] - launch.begin[i])})`];
    if (launch.use[i] >= 0) facts.push("use " + launch.use[i] + " of the ring");
    if (launch.tile[i] >= 0) facts.push(tileOf(i) + (launch.step[i] >= 0 ? ", step " + launch.step[i] : ""));
    if (launch.bytes[i]) facts.push(number(launch.bytes[i]) + " bytes");
    if (kind === "multiply") facts.push(launch.times[i] + (launch.times[i] === 1 ? " instruction" : " instructions"));
    if (launch.open[i]) facts.push(kind === "wait" ? "had not ended when the run did" : "not over when the run ended");
    return { head, facts, place: text(launch.place[i]), lane: laneName(launch.lane[i]) };
  }

  function escape(value) {
    return value.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  }

  function htmlOf(i) {
    const { head, facts, place, lane } = describe(i);
    return `<b>${escape(head)}</b><br>${escape(lane)}<br><small>${facts.map(escape).join("<br>")}` +
      (place ? "<br>" + escape(place) : "") + "</small>";
  }

  // Why a span ends when it does, or who began it: back to a span that follows from nothing else.
  function chainOf(i) {
    const chain = [];
    const seen = new Set([i]);
    for (let at = launch.cause[i]; at >= 0 && !seen.has(at) && chain.length < 12; at = launch.cause[at]) {
      chain.push(at);
      seen.add(at);
      if (launch.kind[at] <= 1) break;
    }
    return chain;
  }

  function showSelected() {
    const box = el("selected");
    if (selected === NONE) {
      box.innerHTML = "<small>Click a span. A wait shows what ended it; click that, or press C, to follow it.<br>" +
        "Wheel or W, S: zoom. Drag, arrows or A, D: pan. Shift and wheel: scroll. F: all. P: critical path. /: search.</small>";
      return;
    }
    const chain = chainOf(selected);
    const isWait = launch.kind[selected] === WAIT;
    const items = chain.map((i, n) => `<li>${n === 0 ? (isWait ? "ended by " : "issued by ") : ""}` +
      `<a data-span="${i}">${escape(describe(i).head)}</a> <small>${escape(laneName(launch.lane[i]))}, ` +
      `${number(launch.begin[i])} to ${number(launch.end[i])}</small></li>`).join("");
    const nothing = isWait && launch.open[selected] ? "<small>Nothing ended it.</small>" : "";
    box.innerHTML = htmlOf(selected) + (chain.length ? `<ol>${items}</ol>` : nothing);
    for (const link of box.querySelectorAll("a")) link.onclick = () => select(Number(link.dataset.span), true);
  }

  function reveal(i) {
    const lane = launch.lane[i];
    if (rowOf[lane] === NONE) {
      folded.delete(launch.lanes[lane][1]);
      makeRows();
    }
    const row = rows[rowOf[lane]], height = canvas.clientHeight - kAxis;
    if (row.y < view.top || row.y + row.height > view.top + height) view.top = row.y - height / 2;
    const length = view.end - view.begin;
    if (launch.end[i] < view.begin || launch.begin[i] > view.end) {
      view.begin = (launch.begin[i] + launch.end[i]) / 2 - length / 2;
      view.end = view.begin + length;
    }
  }

  function select(i, shows) {
    selected = i;
    if (i !== NONE && shows) reveal(i);
    showSelected();
    redraw();
  }

  function zoom(factor, time) {
    const at = time === undefined ? (view.begin + view.end) / 2 : time;
    view.begin = at - (at - view.begin) * factor;
    view.end = at + (view.end - at) * factor;
    redraw();
  }

  function pan(share) {
    const by = (view.end - view.begin) * share;
    view.begin += by;
    view.end += by;
    redraw();
  }

  function fit() {
    view.begin = 0;
    view.end = launch.cycles * 1.02 + 1;
    redraw();
  }

  // "tile 3,1", and "tile 3,1 step 4" for one of its steps along K.
  function isOfTile(i, query) {
    return launch.tile[i] >= 0 && (tileOf(i) === query || tileOf(i) + " step " + launch.step[i] === query);
  }

  function search(wanted) {
    const query = wanted.trim().toLowerCase();
    matches = null;
    el("found").textContent = "";
    if (query) {
      const labels = trace.texts.map((label) => label.toLowerCase().includes(query));
      const lanes = launch.lanes.map((_, l) => laneName(l).toLowerCase().includes(query));
      const spans = new Uint8Array(launch.count);
      let count = 0, first = NONE;
      for (let i = 0; i < launch.count; ++i) {
        if (!labels[launch.label[i]] && !labels[launch.place[i]] && !lanes[launch.lane[i]] &&
            "#" + launch.use[i] !== query && !isOfTile(i, query)) continue;
        spans[i] = 1;
        ++count;
        if (first === NONE) first = i;
      }
      matches = { spans, count, first };
      el("found").textContent = count === 1 ? "1 span" : number(count) + " spans";
    }
    redraw();
  }

  function nextMatch() {
    if (!matches || matches.count === 0) return;
    let i = selected === NONE ? NONE : selected;
    do { i = (i + 1) % launch.count; } while (!matches.spans[i]);
    select(i, true);
  }

  function showShares() {
    let role = NONE;
    el("shares").innerHTML = launch.shares.map(([of, what, isWait, , percent]) => {
      const isFirst = of !== role;
      role = of;
      const color = isWait ? "wait" : text(what) === "works" ? "work" : "hold";
      return `<tr${isFirst ? ' class="first"' : ""} data-role="${escape(text(of))}" data-percent="${percent}"><td>` +
        `${isFirst ? "<b>" + escape(text(of)) + "</b>" : ""}</td><td>${percent.toFixed(1)} %</td>` +
        `<td>${escape(text(what))}</td><td><div class="bar" style="width:${percent}%;background:var(--${color})">` +
        "</div></td></tr>";
    }).join("");
  }

  function showCritical(on) {
    isCritical = on;
    el("critical").setAttribute("aria-pressed", String(on));
    critical = null;
    if (on) {
      critical = new Uint8Array(launch.count);
      for (const i of launch.critical) critical[i] = 1;
    }
    redraw();
  }

  function show(index) {
    launch = trace.launches[index];
    if (!launch.first) launch = trace.launches[index] = unpack(launch);
    folded.clear();
    const ctas = [...new Set(launch.lanes.map((lane) => lane[1]))];
    const involved = new Set(launch.lanes.filter((lane) => lane[4]).map((lane) => lane[1]));
    // Few CTAs are looked at; the rest can be opened.
    const opened = involved.size ? involved : new Set(ctas.slice(0, 2));
    for (const cta of ctas) if (ctas.length > 2 && !opened.has(cta)) folded.add(cta);
    selected = hovered = NONE;
    makeRows();
    el("title").textContent = launch.kernel;
    el("facts").textContent = `${number(launch.cycles)} cycles${launch.predicted ? ` (${launch.predicted})` : ""}, ${ctas.length} CTA${ctas.length === 1 ? "" : "s"}, ` +
      `${number(launch.count)} spans, schedule ${launch.schedule}`;
    const finding = el("finding");
    finding.hidden = !launch.finding;
    finding.firstElementChild.textContent = launch.finding.trim();
    const remark = [launch.cut, trace.remark].filter(Boolean)[0] || "";
    el("remark").hidden = !remark;
    el("remark").textContent = remark;
    showShares();
    showCritical(isCritical);
    search(el("search").value);
    fit();
    if (launch.finding) {
      // What led to it is at the end.
      view.begin = Math.max(0, launch.cycles - Math.max(400, launch.cycles / 8));
      const first = rows.find((row) => row.involved);
      if (first) view.top = Math.max(0, first.y - 40);
    }
    showSelected();
    redraw();
  }

  function spanAt(x, y) {
    if (x < kGutter || y < kAxis) return NONE;
    const at = y - kAxis + view.top;
    const row = rows.find((one) => one.lane !== NONE && at >= one.y && at < one.y + one.height);
    if (!row) return NONE;
    const slack = (view.end - view.begin) / width() * 1.5, time = timeAt(x);
    const i = firstAfter(row.lane, time - slack);
    return i < launch.first[row.lane + 1] && launch.begin[i] <= time + slack ? i : NONE;
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, ...view, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > 3;
      if (!drag.moved) return;
      const by = dx / width() * (drag.end - drag.begin);
      view = { begin: drag.begin - by, end: drag.end - by, top: drag.top - dy };
      tip.hidden = true;
      redraw();
      return;
    }
    const i = spanAt(event.offsetX, event.offsetY);
    if (i !== hovered) {
      hovered = i;
      redraw();
    }
    tip.hidden = i === NONE;
    if (i === NONE) return;
    tip.innerHTML = htmlOf(i);
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.min(event.clientX + 14, innerWidth - box.width - 8) + "px";
    tip.style.top = Math.min(event.clientY + 16, innerHeight - box.height - 8) + "px";
  });
  canvas.addEventListener("pointerup", (event) => {
    const wasDrag = drag && drag.moved;
    drag = null;
    if (wasDrag) return;
    const at = event.offsetY - kAxis + view.top;
    const header = rows.find((row) => row.lane === NONE && at >= row.y && at < row.y + row.height);
    if (header && event.offsetY > kAxis) {
      if (!folded.delete(header.cta)) folded.add(header.cta);
      makeRows();
      redraw();
    } else {
      select(spanAt(event.offsetX, event.offsetY), false);
    }
  });
  canvas.addEventListener("pointerleave", () => { hovered = NONE; tip.hidden = true; redraw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey || event.offsetX < kGutter) {
      view.top += event.deltaY || event.deltaX;
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      return pan(event.deltaX / width());
    } else {
      return zoom(1.0015 ** Math.max(-400, Math.min(400, event.deltaY)), timeAt(event.offsetX));
    }
    redraw();
  }, { passive: false });
  document.addEventListener("keydown", (event) => {
    if (event.target === el("search")) {
      if (event.key === "Enter") nextMatch();
      if (event.key === "Escape") { el("search").value = ""; search(""); canvas.focus(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === el("launch")) return;
    const actions = {
      w: () => zoom(0.7), s: () => zoom(1 / 0.7), "+": () => zoom(0.7), "-": () => zoom(1 / 0.7),
      a: () => pan(-0.2), d: () => pan(0.2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
      ArrowUp: () => { view.top -= 40; redraw(); }, ArrowDown: () => { view.top += 40; redraw(); },
      f: fit, p: () => showCritical(!isCritical), "/": () => el("search").focus(), Escape: () => select(NONE, false),
      c: () => { if (selected !== NONE && launch.cause[selected] >= 0) select(launch.cause[selected], true); },
      n: nextMatch,
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  el("search").addEventListener("input", (event) => search(event.target.value));
  el("critical").onclick = () => showCritical(!isCritical);
  el("in").onclick = () => zoom(0.7);
  el("out").onclick = () => zoom(1 / 0.7);
  el("fit").onclick = fit;
  el("launch").onchange = (event) => show(Number(event.target.value));
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); redraw(); });

  readColors();
  el("legend").innerHTML = kKinds.map((kind) => `<span><i style="background:var(--${kind})"></i>${kMeaning[kind]}</span>`)
    .join("");
  if (trace.launches.length === 0) {
    el("title").textContent = "No launch was recorded";
    return;
  }
  el("launch").hidden = trace.launches.length === 1;
  el("launch").innerHTML = trace.launches.map((one, i) => `<option value="${i}">${i}: ${escape(one.kernel)}</option>`).join("");
  el("launch").value = String(trace.main);
  show(trace.main);
  draw();
  // For tests and for whoever looks at the console.
  window.timeline = {
    get view() { return view; }, get launch() { return launch; }, get rows() { return rows; },
    get selected() { return selected; }, get hovered() { return hovered; }, get matches() { return matches; },
    xOf, middleOf, describe, readyAfter: performance.now(),
  };
})();
