// The timeline: bands over instants. A column of pixels shows the instant in it at
// which most was live, so that no peak is lost and every height is one that was.

const margin = { left: 74, right: 12, top: 12, bottom: 24 };

// Painter counts what it draws, so that a test can bound it.
class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.draws = 0;
  }
  // begin sizes the canvas to the page and returns its context.
  begin(height) {
    const c = this.canvas, ratio = window.devicePixelRatio || 1;
    if (height) c.style.height = height + 'px';
    const w = c.clientWidth, h = c.clientHeight;
    if (c.width !== Math.round(w * ratio) || c.height !== Math.round(h * ratio)) {
      c.width = Math.round(w * ratio);
      c.height = Math.round(h * ratio);
    }
    const g = c.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    this.draws = 0;
    this.w = w;
    this.h = h;
    this.g = g;
    return g;
  }
  fill(path, colour) { this.g.fillStyle = colour; this.g.fill(path); this.draws++; }
  rect(x, y, w, h, colour) { this.g.fillStyle = colour; this.g.fillRect(x, y, w, h); this.draws++; }
  line(x0, y0, x1, y1, colour, width = 1, dash = []) {
    const g = this.g;
    g.strokeStyle = colour; g.lineWidth = width; g.setLineDash(dash);
    g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke();
    g.setLineDash([]);
    this.draws++;
  }
  stroke(path, colour, width = 1) { this.g.strokeStyle = colour; this.g.lineWidth = width; this.g.stroke(path); this.draws++; }
  text(s, x, y, colour, align = 'left', font = '11px system-ui, sans-serif') {
    const g = this.g;
    g.fillStyle = colour; g.textAlign = align; g.textBaseline = 'middle'; g.font = font;
    g.fillText(s, x, y);
    this.draws++;
  }
}

function theme(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }

// niceStep returns a step for about n ticks: powers of two times 1024s for bytes,
// 1, 2 or 5 times powers of ten otherwise.
function niceStep(range, n, binary) {
  const rough = range / n;
  if (binary) return Math.max(2 ** Math.ceil(Math.log2(Math.max(rough, 1))), 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  return [1, 2, 5, 10].map(k => k * power).find(s => s >= rough);
}

class Timeline {
  constructor(page, canvas, overview) {
    this.page = page;
    this.painter = new Painter(canvas);
    this.overview = new Painter(overview);
    this.view = null; // [from, to] in the axis' unit
    this.listen(canvas, overview);
  }
  // The axis: events, or microseconds since the first.
  get full() {
    const d = this.page.device;
    return this.page.axis === 'time' ? [0, Math.max(d.clock[d.events], 1)] : [0, d.events + 1]; // the last instant has a width too
  }
  get range() { return this.view || this.full; }
  instantAt(v) {
    const d = this.page.device;
    if (this.page.axis === 'time') return d.instantAtTime(v);
    return Math.min(Math.max(Math.floor(v), 0), d.events);
  }
  valueOf(i) { return this.page.axis === 'time' ? this.page.device.clock[i] : i; }
  xOf(v) {
    const [a, b] = this.range;
    return margin.left + (v - a) / (b - a) * this.plotWidth;
  }
  get plotWidth() { return Math.max(this.painter.w - margin.left - margin.right, 10); }

  // columns returns the instants that n columns show.
  columns(range, n) {
    const d = this.page.device, list = new Uint32Array(n);
    const [a, b] = range;
    for (let c = 0; c < n; c++) {
      let from = this.instantAt(a + (b - a) * c / n);
      const to = Math.max(this.instantAt(a + (b - a) * (c + 1) / n), from + 1);
      let best = from;
      for (let i = from + 1; i < to && i <= d.events; i++) if (d.total[i] > d.total[best]) best = i;
      list[c] = best;
    }
    return list;
  }

  draw() {
    const g = this.painter.begin(), p = this.painter, d = this.page.device;
    const n = Math.max(Math.floor(this.plotWidth), 1), range = this.range;
    const instants = this.columns(range, n);
    const bands = this.page.bands(this.instantAt(range[0]), this.instantAt(range[1]));
    const { heights, merged } = sweep(d, bands, instants);
    let top = 1;
    for (let c = 0; c < n; c++) top = Math.max(top, d.total[instants[c]]);
    const showReserved = this.page.showsReserved;
    if (showReserved) for (let c = 0; c < n; c++) top = Math.max(top, d.reserved(instants[c]));
    top *= 1.04;
    const bottom = p.h - margin.bottom, plotHeight = bottom - margin.top;
    const y = v => bottom - v / top * plotHeight;
    this.drawn = { instants, bands, heights, merged, n, y, top, bottom, plotHeight };
    this.grid(top, y, range);
    this.fillBands(g);
    if (showReserved) this.reservedLine(y, instants);
    this.marks(y);
    this.drawOverview();
    return bands;
  }

  grid(top, y, range) {
    const p = this.painter, soft = theme('soft'), rule = theme('grid');
    const step = niceStep(top, 5, true);
    for (let v = 0; v <= top; v += step) {
      p.line(margin.left, Math.round(y(v)) + .5, p.w - margin.right, Math.round(y(v)) + .5, rule);
      p.text(v ? bytesText(v, v % 1024 ** Math.floor(Math.log(v) / Math.log(1024)) ? 1 : 0) : '0', margin.left - 8, y(v), soft, 'right');
    }
    const time = this.page.axis === 'time', span = range[1] - range[0];
    const xs = niceStep(span, Math.max(p.w / 130, 2), false);
    for (let v = Math.ceil(range[0] / xs) * xs; v <= range[1]; v += xs) {
      const x = Math.round(this.xOf(v)) + .5;
      p.line(x, p.h - margin.bottom, x, p.h - margin.bottom + 4, soft);
      const label = time ? timeText(v) : Math.round(v + this.page.device.first).toLocaleString('en');
      p.text(label, Math.min(x, p.w - margin.right - 20), p.h - margin.bottom + 14, soft, 'center');
    }
  }

  // fillBands draws one filled shape a band, from the bottom up, in as many pieces
  // as it has gaps.
  fillBands(g) {
    const { bands, heights, n, y } = this.drawn;
    const base = new Float64Array(n);
    const edge = bands.block !== undefined;
    for (let b = 0; b < bands.n; b++) {
      const path = new Path2D();
      let from = -1, any = false, highest = 0;
      for (let c = 0; c <= n; c++) {
        const h = c < n ? heights[c * bands.n + b] : 0;
        if (h > highest) highest = h;
        if (h > 0 && from < 0) from = c;
        if (h <= 0 && from >= 0) { this.shape(path, base, from, c, b); from = -1; any = true; }
      }
      if (any) {
        this.painter.fill(path, bands.colours[b]);
        if (edge && b !== bands.merged && highest / this.drawn.top * this.drawn.plotHeight > 3) this.painter.stroke(path, theme('panel'), .5);
      }
      for (let c = 0; c < n; c++) base[c] += heights[c * bands.n + b];
    }
    this.drawn.sums = base;
  }

  shape(path, base, from, to, b) {
    const { bands, heights, y } = this.drawn;
    const x = c => margin.left + c;
    let last = NaN;
    path.moveTo(x(from), y(base[from]));
    for (let c = from; c < to; c++) {
      const v = y(base[c] + heights[c * bands.n + b]);
      if (v !== last) { if (c > from) path.lineTo(x(c), last); path.lineTo(x(c), v); last = v; }
    }
    path.lineTo(x(to), last);
    last = y(base[to - 1]);
    path.lineTo(x(to), last);
    for (let c = to - 1; c >= from; c--) {
      const v = y(base[c]);
      if (v !== last) { path.lineTo(x(c + 1), last); path.lineTo(x(c + 1), v); last = v; }
    }
    path.closePath();
  }

  reservedLine(y, instants) {
    const d = this.page.device, path = new Path2D();
    let last = NaN;
    for (let c = 0; c < instants.length; c++) {
      const v = y(d.reserved(instants[c])), x = margin.left + c;
      if (c === 0) path.moveTo(x, v);
      else if (v !== last) { path.lineTo(x, last); path.lineTo(x, v); }
      last = v;
    }
    path.lineTo(margin.left + instants.length, last);
    this.painter.stroke(path, theme('ink'), 1.25);
  }

  marks(y) {
    const p = this.painter, d = this.page.device, [a, b] = this.range;
    const at = (i, colour, label, dash, line) => {
      const v = this.valueOf(i);
      if (v < a || v > b) return;
      const x = this.xOf(v);
      p.line(x, margin.top, x, p.h - margin.bottom, colour, 1.5, dash);
      p.g.font = '600 11px system-ui, sans-serif';
      const w = p.g.measureText(label).width + 10, left = x + w + 6 > p.w - margin.right;
      p.rect(left ? x - w - 3 : x + 3, margin.top + line * 19, w, 17, theme('panel'));
      p.text(label, left ? x - 8 : x + 8, margin.top + 9 + line * 19, colour, left ? 'right' : 'left', '600 11px system-ui, sans-serif');
    };
    if (this.page.instant !== d.peak) at(d.peak, theme('soft'), 'peak ' + bytesText(d.total[d.peak]), [4, 3], 1);
    const name = this.page.instant === d.peak ? 'peak ' : '';
    at(this.page.instant, theme('mark'), name + bytesText(d.total[this.page.instant]), [], 0);
  }

  drawOverview() {
    const p = this.overview, d = this.page.device;
    p.begin();
    const n = Math.max(Math.floor(p.w - margin.left - margin.right), 1);
    const instants = this.columns(this.full, n), top = Math.max(d.total[d.peak], 1);
    const path = new Path2D();
    path.moveTo(margin.left, p.h);
    for (let c = 0; c < n; c++) path.lineTo(margin.left + c, p.h - d.total[instants[c]] / top * (p.h - 2));
    path.lineTo(margin.left + n, p.h);
    p.rect(margin.left, 0, n, p.h, theme('grid'));
    p.fill(path, theme('faint'));
    const [f0, f1] = this.full, [a, b] = this.range, x = v => margin.left + (v - f0) / (f1 - f0) * n;
    if (this.view) {
      p.g.globalAlpha = .55;
      p.rect(margin.left, 0, x(a) - margin.left, p.h, theme('panel'));
      p.rect(x(b), 0, margin.left + n - x(b), p.h, theme('panel'));
      p.g.globalAlpha = 1;
      p.line(x(a), 0, x(a), p.h, theme('accent'), 2);
      p.line(x(b), 0, x(b), p.h, theme('accent'), 2);
    }
    const xi = x(this.valueOf(this.page.instant));
    p.line(xi, 0, xi, p.h, theme('mark'), 1.5);
  }

  // at returns what is under the pointer: the instant and the band.
  at(px, py) {
    const t = this.drawn;
    if (!t) return null;
    const c = Math.floor(px - margin.left);
    if (c < 0 || c >= t.n || py < margin.top || py > t.bottom) return null;
    const bytes = (t.bottom - py) / t.plotHeight * t.top;
    let sum = 0, band = -1;
    for (let b = 0; b < t.bands.n; b++) {
      sum += t.heights[c * t.bands.n + b];
      if (bytes <= sum) { band = b; break; }
    }
    return { column: c, instant: t.instants[c], band, bytes: band < 0 ? 0 : t.heights[c * t.bands.n + band], merged: t.merged[c] };
  }

  setView(a, b) {
    const [f0, f1] = this.full;
    const least = this.page.axis === 'time' ? 1 : 4;
    let span = Math.min(Math.max(b - a, least), f1 - f0);
    a = Math.min(Math.max(a, f0), f1 - span);
    this.view = span >= (f1 - f0) * .9999 ? null : [a, a + span];
    this.page.changed(true);
  }

  listen(canvas, overview) {
    const value = x => {
      const [a, b] = this.range;
      return a + (x - margin.left) / this.plotWidth * (b - a);
    };
    canvas.addEventListener('wheel', e => {
      e.preventDefault();
      const [a, b] = this.range;
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        const by = e.deltaX / this.plotWidth * (b - a);
        return this.setView(a + by, b + by);
      }
      const k = Math.exp(Math.max(Math.min(e.deltaY, 200), -200) * .0025), v = value(e.offsetX);
      this.setView(v - (v - a) * k, v + (b - v) * k);
    }, { passive: false });
    let drag = null;
    canvas.addEventListener('pointerdown', e => {
      drag = { x: e.offsetX, range: this.range, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointermove', e => {
      if (drag && Math.abs(e.offsetX - drag.x) > 3) drag.moved = true;
      if (drag && drag.moved) {
        const [a, b] = drag.range, by = (drag.x - e.offsetX) / this.plotWidth * (b - a);
        this.page.hideTip();
        this.setView(a + by, b + by);
        return;
      }
      this.page.timelineTip(this.at(e.offsetX, e.offsetY), e);
    });
    canvas.addEventListener('pointerup', e => {
      const hit = drag && !drag.moved && this.at(e.offsetX, e.offsetY);
      drag = null;
      if (hit) this.page.choose(hit.instant);
    });
    canvas.addEventListener('pointerleave', () => this.page.hideTip());
    canvas.addEventListener('dblclick', () => { this.view = null; this.page.changed(true); });
    canvas.addEventListener('keydown', e => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -100, PageDown: 100 }[e.key];
      if (step) { e.preventDefault(); this.page.choose(this.page.instant + step); }
      if (e.key === 'Home') this.page.choose(this.page.device.peak);
    });
    const scrub = e => {
      const [f0, f1] = this.full, n = this.overview.w - margin.left - margin.right;
      const v = f0 + (e.offsetX - margin.left) / n * (f1 - f0), [a, b] = this.range;
      if (this.view) this.setView(v - (b - a) / 2, v + (b - a) / 2);
      else this.page.choose(this.instantAt(v));
    };
    overview.addEventListener('pointerdown', e => { overview.setPointerCapture(e.pointerId); scrub(e); });
    overview.addEventListener('pointermove', e => { if (e.buttons) scrub(e); });
  }
}
