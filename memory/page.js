"use strict";
(() => {
  const kinds = ["parameter", "buffer", "gradient", "optimizer state", "activation", "input", "workspace"];
  const color = (kind) => kind.split(" ")[0];
  const $ = (id) => document.getElementById(id);
  const every = 1000; // ms between two readings
  const keep = 3600; // readings kept where no history is recorded

  let span = 0; // seconds shown; 0: all
  let paused = false;
  let readings = []; // of status.json, for the timeline where no history is recorded
  let line = null; // the timeline drawn: {times, live, mapped, kinds, marks}
  let at = -1; // the instant under the pointer

  function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  function bytes(n) {
    if (n < 1024) return n + " B";
    let unit = -1;
    do { n /= 1024; unit++; } while (n >= 1024 && unit < 4);
    return n.toFixed(2) + " " + "KMGTP"[unit] + "iB";
  }

  function seconds(s) {
    if (s < 1) return Math.round(s * 1000) + " ms";
    if (s < 120) return s.toFixed(s < 10 ? 1 : 0) + " s";
    if (s < 7200) return Math.round(s / 60) + " min";
    return (s / 3600).toFixed(1) + " h";
  }

  const clock = (ms, fine) => new Date(ms).toLocaleTimeString([], { hour12: false }) + (fine ? "." + String(Math.floor(ms) % 1000).padStart(3, "0") : "");

  // Tiles and tables.

  function tile(value, name, bad) {
    const d = element("div", undefined, bad ? "bad" : "");
    d.append(element("b", value), element("span", name));
    return d;
  }

  function showStatus(s) {
    $("program").textContent = s.program;
    document.title = bytes(s.live_bytes) + " – memory of " + s.program;
    $("process").textContent = "process " + s.pid;
    $("tiles").replaceChildren(
      tile(bytes(s.live_bytes), "live in " + s.live_count.toLocaleString("en") + " tensors"),
      tile(bytes(s.peak_bytes), "live at the peak"),
      tile(bytes(s.mapped_bytes), s.limit_bytes ? "mapped, of limit " + bytes(s.limit_bytes) : "mapped, no limit"),
      tile(bytes(s.cached_bytes), "of it cached; largest hole " + bytes(s.largest_hole_bytes)),
      tile(s.rss_bytes ? bytes(s.rss_bytes) : "–", "resident, the whole process"),
      tile(String(s.owners), "stores and scopes open"),
      tile(String(s.out_of_memory), "requests without memory", s.out_of_memory > 0),
    );
    const h = s.history;
    $("recording").textContent = !h.on
      ? "No history is recorded, so the timeline begins with this page, a reading a second. memory.RecordHistory or EBB_MEMORY_HISTORY keep every event."
      : h.events.toLocaleString("en") + " events since " + clock(Date.parse(h.since)) + ", at most " + h.max_events.toLocaleString("en") +
        (h.dropped_events ? "; " + h.dropped_events.toLocaleString("en") + " older ones dropped" : "") + ". Each point is the highest moment of its span.";
    table("kinds", [["kind", "text"], ["live"], ["at its peak"], ["tensors"]], s.kinds.map((k) => [mark(k.kind), bytes(k.live_bytes), bytes(k.peak_bytes), k.live_count.toLocaleString("en")]));
  }

  function mark(kind) {
    const e = element("span", kind);
    e.prepend(element("i", undefined, color(kind)));
    return e;
  }

  function table(id, heads, rows) {
    const head = element("tr");
    for (const [name, kind] of heads) {
      const th = element("th", name, kind ? "text" : "");
      th.scope = "col";
      head.append(th);
    }
    const thead = element("thead"), body = element("tbody");
    thead.append(head);
    for (const row of rows) {
      const tr = element("tr");
      row.forEach((cell, i) => {
        const td = element("td", undefined, heads[i][1] || "");
        td.append(cell);
        tr.append(td);
      });
      body.append(tr);
    }
    if (!rows.length) {
      const td = element("td", "nothing", "empty");
      td.colSpan = heads.length;
      const tr = element("tr");
      tr.append(td);
      body.append(tr);
    }
    $(id).replaceChildren(thead, body);
  }

  function showHolders(list) {
    table("holders", [["bytes"], ["tensors"], ["kind", "text"], ["what", "text"], ["owner", "text"], ["module", "text"], ["oldest"], ["made at", "text site"]],
      list.map((h) => [bytes(h.bytes), h.count.toLocaleString("en"), mark(h.kind), h.dtype + "[" + h.shape.join(", ") + "] by " + h.op, h.owner, h.module, seconds(h.oldest_seconds), h.site]));
  }

  // The timeline.

  function ofReadings() {
    const from = span ? Date.now() - span * 1000 : 0;
    const shown = readings.filter((s) => Date.parse(s.time) >= from);
    const l = { times: shown.map((s) => Date.parse(s.time)), live: shown.map((s) => s.live_bytes), mapped: shown.map((s) => s.mapped_bytes), kinds: {}, marks: [] };
    for (const k of kinds) l.kinds[k] = shown.map((s) => (s.kinds.find((x) => x.kind === k) || { live_bytes: 0 }).live_bytes);
    return l;
  }

  function ofHistory(t) {
    const l = { times: t.times_ms, live: t.live_bytes, mapped: t.mapped_bytes, kinds: {}, marks: t.marks };
    for (const k of kinds) l.kinds[k] = t.kinds[k] || t.times_ms.map(() => 0);
    return l;
  }

  // A step of 1, 2 or 5 times a power of ten, of binary units where it is of bytes.
  function step(most, count, binary) {
    let unit = 1;
    if (binary) while (most / count >= unit * 1024) unit *= 1024;
    const raw = most / count / unit;
    const ten = Math.pow(10, Math.floor(Math.log10(Math.max(raw, 1e-9))));
    for (const m of [1, 2, 5, 10]) if (m * ten >= raw) return Math.max(m * ten * unit, binary ? 1 : 0);
    return raw * unit;
  }

  const tick = (n) => n === 0 ? "0" : bytes(n).replace(/\.(\d*?)0+ /, (_, d) => (d ? "." + d : "") + " ");
  const box = { left: 84, right: 16, top: 14, bottom: 30 };

  function draw() {
    const canvas = $("chart"), style = getComputedStyle(document.documentElement), v = (name) => style.getPropertyValue("--" + name).trim();
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    c.clearRect(0, 0, width, height);
    c.font = "12px system-ui, sans-serif";
    const w = width - box.left - box.right, h = height - box.top - box.bottom;
    if (!line || line.times.length < 2) {
      c.fillStyle = v("soft");
      c.textAlign = "center";
      c.fillText("the first readings are on their way", width / 2, height / 2);
      return;
    }
    const n = line.times.length, t0 = line.times[0], t1 = line.times[n - 1];
    const most = Math.max(1, ...line.mapped, ...line.live);
    const dy = step(most, 4, true), top = Math.ceil(most / dy) * dy;
    const x = (t) => box.left + ((t - t0) / Math.max(t1 - t0, 1)) * w, y = (b) => box.top + h - (b / top) * h;
    line.x = x;

    c.strokeStyle = v("rule");
    c.fillStyle = v("soft");
    c.lineWidth = 1;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (let b = 0; b <= top + dy / 2; b += dy) {
      const at = Math.round(y(b)) + 0.5;
      c.beginPath();
      c.moveTo(box.left, at);
      c.lineTo(width - box.right, at);
      c.stroke();
      c.fillText(tick(b), box.left - 8, at);
    }
    c.textBaseline = "top";
    c.textAlign = "center";
    const dx = step(t1 - t0, Math.max(2, Math.floor(w / 150)), false);
    for (let t = 0; t <= t1 - t0 + 1e-6; t += dx) {
      const at = x(t1 - t);
      if (at < box.left + 20) break;
      c.fillText(t === 0 ? "now" : "−" + seconds(t / 1000), Math.min(at, width - box.right - 12), height - box.bottom + 8);
    }

    // Kinds one upon another, in steps: a figure holds until the next.
    const base = new Array(n).fill(0);
    for (const k of kinds) {
      const own = line.kinds[k];
      if (!own.some((b) => b > 0)) continue;
      c.fillStyle = v(color(k));
      c.beginPath();
      for (let i = 0; i < n; i++) {
        if (i) c.lineTo(x(line.times[i]), y(base[i - 1] + own[i - 1]));
        c.lineTo(x(line.times[i]), y(base[i] + own[i]));
      }
      for (let i = n - 1; i >= 0; i--) {
        c.lineTo(x(line.times[i]), y(base[i]));
        if (i) c.lineTo(x(line.times[i]), y(base[i - 1]));
      }
      c.fill();
      for (let i = 0; i < n; i++) base[i] += own[i];
    }
    c.strokeStyle = v("mapped");
    c.lineWidth = 1.5;
    c.setLineDash([5, 4]);
    c.beginPath();
    for (let i = 0; i < n; i++) {
      if (i) c.lineTo(x(line.times[i]), y(line.mapped[i - 1]));
      c.lineTo(x(line.times[i]), y(line.mapped[i]));
    }
    c.stroke();
    c.setLineDash([2, 3]);
    c.lineWidth = 1;
    if (line.marks.length <= w / 12) {
      for (const m of line.marks) {
        c.beginPath();
        c.moveTo(x(m.time_ms), box.top);
        c.lineTo(x(m.time_ms), box.top + h);
        c.stroke();
      }
    }
    c.setLineDash([]);
    if (at >= 0 && at < n) {
      c.strokeStyle = v("ink");
      c.beginPath();
      c.moveTo(x(line.times[at]), box.top);
      c.lineTo(x(line.times[at]), box.top + h);
      c.stroke();
    }
    tip();
  }

  function tip() {
    const t = $("tip");
    if (!line || at < 0 || at >= line.times.length) {
      t.hidden = true;
      return;
    }
    const row = (name, value, icon) => {
      const d = element("div"), left = element("span", name);
      left.prepend(element("i", undefined, icon));
      d.append(left, element("span", bytes(value)));
      return d;
    };
    const rows = [element("b", clock(line.times[at], true) + " · " + bytes(line.live[at]) + " live")];
    for (const k of [...kinds].reverse()) if (line.kinds[k][at] > 0) rows.push(row(k, line.kinds[k][at], color(k)));
    rows.push(row("mapped", line.mapped[at], "line"));
    const mark = line.marks.filter((m) => m.time_ms <= line.times[at]).pop();
    if (mark) rows.push(element("div", "after “" + mark.text + "”"));
    t.replaceChildren(...rows);
    t.hidden = false;
    const place = line.x(line.times[at]), wide = $("chart").clientWidth;
    t.style.left = (place > wide / 2 ? place - t.offsetWidth - 12 : place + 12) + "px";
    t.style.top = "1rem";
  }

  function legend() {
    const used = kinds.filter((k) => line && line.kinds[k].some((b) => b > 0)).map(mark);
    const mapped = element("span", "mapped from the system");
    mapped.prepend(element("i", undefined, "line"));
    $("legend").replaceChildren(...used, mapped);
  }

  const canvas = $("chart");
  canvas.addEventListener("pointermove", (e) => {
    if (!line || !line.x) return;
    const place = e.clientX - canvas.getBoundingClientRect().left;
    at = 0;
    for (let i = 0; i < line.times.length && line.x(line.times[i]) <= place; i++) at = i;
    draw();
  });
  canvas.addEventListener("pointerleave", () => { at = -1; draw(); });
  canvas.addEventListener("keydown", (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[e.key];
    if (e.key === "Escape") at = -1;
    else if (by && line) at = Math.min(Math.max((at < 0 ? line.times.length - 1 : at) + by, 0), line.times.length - 1);
    else return;
    e.preventDefault();
    draw();
  });
  for (const b of $("spans").children) {
    b.addEventListener("click", () => {
      span = Number(b.dataset.span);
      for (const other of $("spans").children) other.setAttribute("aria-pressed", String(other === b));
      read();
    });
  }
  $("pause").addEventListener("click", () => {
    paused = !paused;
    $("pause").setAttribute("aria-pressed", String(paused));
    $("state").textContent = paused ? "paused" : "";
  });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  // Reading.

  const get = async (name) => {
    const r = await fetch(name);
    if (!r.ok) throw new Error(r.status + " " + r.statusText);
    return r.json();
  };

  let reading = false;
  async function read() {
    if (reading) return;
    reading = true;
    try {
      const s = await get("status.json");
      readings.push(s);
      if (readings.length > keep) readings.shift();
      if (s.history.on) {
        const points = Math.max(50, Math.floor($("chart").clientWidth / 2));
        line = ofHistory(await get("timeline.json?points=" + points + (span ? "&since=" + (Date.parse(s.time) - span * 1000) : "")));
      } else {
        line = ofReadings();
      }
      showStatus(s);
      showHolders(await get("holders.json?top=20"));
      legend();
      if (at >= line.times.length) at = -1;
      draw();
      $("state").textContent = paused ? "paused" : "";
      $("state").className = "";
    } catch (e) {
      $("state").textContent = "no answer since " + clock(Date.now()) + ": " + e.message;
      $("state").className = "lost";
    } finally {
      reading = false;
    }
  }
  setInterval(() => { if (!paused && !document.hidden) read(); }, every);
  read();
})();
