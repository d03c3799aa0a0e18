// The page: what is chosen, and who draws it.

const $ = id => document.getElementById(id);

function element(tag, text, parent, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  if (parent) parent.append(e);
  return e;
}

class Page {
  constructor(meta, stacks) {
    this.meta = meta;
    this.stacks = stacks;
    this.devices = [];
    this.mode = this.oneKind ? 'line' : 'kind';
    this.axis = 'event';
    this.by = 'line';
    this.level = 3;
    this.query = '';
    this.cache = new Map();
  }

  start() {
    this.device = this.devices[0];
    this.instant = this.device.peak;
    this.timeline = new Timeline(this, $('timeline'), $('overview'));
    this.segments = new Segments(this, $('segments'));
    this.flame = new Flame(this, $('flame'));
    const m = this.meta;
    $('title').textContent = m.title;
    document.title = m.title;
    if (m.warnings.length) {
      $('warnings').hidden = false;
      $('warnings').querySelector('summary').textContent = countText(m.warnings.length, 'doubt') + ' about this file';
      for (const w of m.warnings) element('li', w, $('warnings').querySelector('ul'));
    }
    if (this.devices.length > 1) this.devices.forEach((d, i) => {
      const b = element('button', d.name, $('devices'));
      b.addEventListener('click', () => this.pick(i));
    });
    const modes = [['kind', 'Kind'], ['line', 'Line'], ['stack', 'Stack'], ['block', 'Block']];
    if (m.modules.length > 1) modes.splice(1, 0, ['module', 'Module']);
    this.choice('mode', modes, v => { this.mode = v; });
    this.choice('axis', [['event', 'Events'], ['time', 'Time']], v => { this.axis = v; this.timeline.view = null; });
    this.choice('level', [[3, 'Program'], [2, 'With libraries'], [0, 'All frames']], v => { this.level = v; this.flame.zoom(null); });
    const groups = [['line', 'Line'], ['kind', 'Kind'], ['stack', 'Stack']];
    if (m.modules.length > 1) groups.push(['module', 'Module']);
    this.choice('by', groups, v => { this.by = v; });
    $('reset').addEventListener('click', () => { this.timeline.view = null; this.changed(true); });
    $('flameReset').addEventListener('click', () => this.flame.zoom(null));
    let timer;
    $('search').addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.search($('search').value), 120);
    });
    new ResizeObserver(() => this.changed()).observe(document.body);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.changed());
    this.pick(0);
  }

  pick(i) {
    this.device = this.devices[i];
    this.instant = this.device.peak;
    this.timeline.view = null;
    this.flame.focus = null;
    this.cache.clear();
    [...$('devices').children].forEach((b, k) => b.setAttribute('aria-current', k === i));
    const d = this.device;
    const parts = [d.name, countText(d.events, 'event'), countText(d.blocks, 'block')];
    if (d.events && d.clock[d.events]) parts.push(timeText(d.clock[d.events]));
    if (d.epoch) parts.push('from ' + new Date(d.epoch / 1000).toISOString().replace('T', ' ').slice(0, 19) + ' UTC');
    if (this.meta.guessed) parts.push('kinds guessed from the stacks');
    $('subtitle').textContent = parts.join(' · ');
    this.changed();
  }

  choice(id, options, set, field = id) {
    const box = $(id), buttons = [];
    for (const [value, text] of options) {
      const b = element('button', text, box);
      b.type = 'button';
      b.setAttribute('role', 'radio');
      b.addEventListener('click', () => {
        set(value);
        buttons.forEach(o => o.setAttribute('aria-checked', o === b));
        this.changed();
      });
      b.setAttribute('aria-checked', this[field] === value);
      buttons.push(b);
    }
  }

  // changed draws what depends on what was chosen, once a frame: all, or the
  // timeline alone where that was only moved.
  changed(moved = false) {
    this.stale = this.stale || !moved;
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      const all = this.stale;
      this.stale = false;
      if (all) this.draw(); else this.drawTimeline();
    });
  }

  drawTimeline() {
    this.legend(this.timeline.draw());
    $('reset').hidden = !this.timeline.view;
  }

  draw() {
    this.drawTimeline();
    this.segments.draw();
    this.flame.draw();
    this.cards();
    this.holders();
    const d = this.device, when = 'at event ' + (this.instant + d.first).toLocaleString('en') + (d.clock[d.events] ? ', ' + timeText(d.clock[this.instant]) : '') + (this.instant === d.peak ? ' (the peak)' : '');
    for (const e of document.querySelectorAll('.when')) e.textContent = when;
    const s = this.segments, notes = [];
    if (s.hidden) notes.push(countText(s.hidden, 'smaller segment') + ' not shown');
    if (s.stray) notes.push(countText(s.stray, 'block') + ' in no segment');
    $('segmentsNote').textContent = notes.join(' · ') || 'as wide as they are large; light parts are free';
  }

  choose(i) {
    this.instant = Math.min(Math.max(i, 0), this.device.events);
    this.changed();
  }

  // With one kind of memory, colours tell lines apart.
  get oneKind() { return this.meta.kinds.length < 2; }
  baseColour(a) {
    const d = this.device;
    return this.oneKind ? palette[this.stacks.site[d.stack[a]] % palette.length] : kindColour(this.meta.kinds[d.kind[a]], d.kind[a]);
  }

  get showsReserved() { return this.device.segments > 0 && !this.query; }

  // bands returns what the timeline stacks.
  bands(from, to) {
    const d = this.device;
    if (this.query) return this.cached('search ' + this.query, () => bandsBySearch(d, this));
    switch (this.mode) {
      case 'line': return this.cached('line', () => bandsByLine(d));
      case 'stack': return this.cached('stack', () => bandsByStack(d));
      case 'module': return this.cached('module', () => bandsByModule(d, this));
      case 'block': return this.cached('block ' + from + ' ' + to, () => bandsByBlock(d, this, from, to));
    }
    return this.cached('kind', () => bandsByKind(d, this));
  }
  cached(key, make) {
    if (!this.cache.has(key)) {
      if (this.cache.size > 16) this.cache.clear();
      this.cache.set(key, make());
    }
    return this.cache.get(key);
  }

  blockColour(a) {
    if (this.query) return this.matches(this.device, a) ? palette[1] : restColour;
    return shade(this.baseColour(a), this.mode === 'block' ? a : 0);
  }

  search(text) {
    this.query = text.trim();
    const q = this.query.toLowerCase(), s = this.stacks;
    const has = t => t.toLowerCase().includes(q);
    this.frameHit = new Uint8Array(s.frames.length);
    this.stackHit = new Uint8Array(s.n);
    if (q) {
      s.frames.forEach((_, f) => { this.frameHit[f] = has(s.frameText(f)) ? 1 : 0; });
      for (let k = 0; k < s.n; k++) this.stackHit[k] = has(s.siteText(k)) || s.frameIds(k).some(f => this.frameHit[f]) ? 1 : 0;
      this.kindHit = this.meta.kinds.map(has);
      this.moduleHit = this.meta.modules.map(has);
    }
    this.cache.clear();
    this.changed();
  }
  frameMatches(f) { return this.frameHit[f] === 1; }
  matches(d, a) { return this.stackHit[d.stack[a]] === 1 || this.kindHit[d.kind[a]] || this.moduleHit[d.module[a]]; }

  cards() {
    const d = this.device, i = this.instant, s = this.segments, box = $('cards');
    box.replaceChildren();
    const card = (name, value, note, now) => {
      const c = element('div', undefined, box, now ? 'card now' : 'card');
      element('span', name, c);
      element('b', value, c);
      element('span', note, c);
    };
    card('Live at the chosen instant', bytesText(d.total[i]), countText(d.count[i], 'block') + ', as asked for', true);
    card('Peak', bytesText(d.total[d.peak]), 'at event ' + (d.peak + d.first).toLocaleString('en'));
    card('Reserved', bytesText(d.reserved(i)), d.segments ? countText(s.bars.length + s.hidden, 'segment') : 'no segments in the file');
    card('Free in the segments', bytesText(s.free), bytesText(s.whole) + ' in whole segments');
    card('Largest hole', bytesText(s.largest), 'what fits without a new segment');
    let before = 0;
    for (let a = 0; a < d.before; a++) before += d.size[a];
    card(d.first ? 'Live when this part begins' : 'Older than the trace', bytesText(before), countText(d.before, 'block'));
  }

  legend(bands) {
    const box = $('legend'), d = this.device;
    box.replaceChildren();
    const { heights, merged } = sweep(d, bands, [this.instant]);
    const item = (colour, name, note, query) => {
      const b = element('button', undefined, box);
      b.type = 'button';
      const dot = element('i', undefined, b);
      dot.style.background = colour;
      element('bdi', name, element('span', undefined, b));
      element('em', note, b);
      b.title = name;
      if (query) b.addEventListener('click', () => { $('search').value = query; this.search(query); });
    };
    if (bands.block) { // too many for a legend: their kinds
      if (!this.oneKind) {
        const byKind = bandsByKind(d, this), at = sweep(d, byKind, [this.instant]).heights;
        byKind.names.forEach((name, k) => { if (at[k] || byKind.n < 9) item(byKind.colours[k], name, bytesText(at[k]), name); });
      }
      if (bands.merged >= 0) item(restColour, countText(merged[0], 'smaller block'), bytesText(heights[bands.merged]));
    } else {
      const order = [...bands.names.keys()].sort((a, b) => heights[b] - heights[a]);
      for (const k of order) {
        const name = k === bands.merged ? bands.names[k] + ', ' + countText(merged[0], 'block') : bands.names[k];
        item(bands.colours[k], name, bytesText(heights[k]), k === bands.merged || this.query ? '' : bands.names[k]);
      }
    }
    if (this.showsReserved) item(theme('ink'), 'reserved', bytesText(d.reserved(this.instant)));
  }

  holders() {
    const d = this.device, s = this.stacks, table = $('holders');
    const key = { line: a => s.site[d.stack[a]], kind: a => d.kind[a], stack: a => d.stack[a], module: a => d.module[a] }[this.by];
    const name = { line: k => s.sites[k], kind: k => this.meta.kinds[k], stack: k => s.siteText(k), module: k => this.meta.modules[k] || '(none)' }[this.by];
    const groups = new Map();
    let total = 0;
    for (const a of d.liveAt(this.instant)) {
      if (this.query && !this.matches(d, a)) continue;
      const k = key(a);
      let g = groups.get(k);
      if (!g) groups.set(k, g = { k, bytes: 0, count: 0, largest: a, oldest: a });
      g.bytes += d.size[a];
      g.count++;
      if (d.size[a] > d.size[g.largest]) g.largest = a;
      if (d.start[a] < d.start[g.oldest]) g.oldest = a;
      total += d.size[a];
    }
    const list = [...groups.values()].sort((a, b) => b.bytes - a.bytes), shown = list.slice(0, 40);
    const head = table.tHead;
    head.replaceChildren();
    const row = element('tr', undefined, head);
    [['Bytes', 'n', '8rem'], ['', '', '9rem'], ['Blocks', 'n', '6rem'], ['Kind', '', '10rem'], [this.by === 'kind' ? 'Largest from' : this.by[0].toUpperCase() + this.by.slice(1), '', ''], ['Since event', 'n', '8rem']].forEach(([t, c, w]) => {
      const th = element('th', t, row, c);
      if (w) th.style.width = w;
    });
    const body = table.tBodies[0];
    body.replaceChildren();
    for (const g of shown) {
      const r = element('tr', undefined, body), kind = d.kind[g.largest];
      element('td', bytesText(g.bytes), r, 'n');
      const share = element('td', undefined, r, 'share'), bar = element('i', undefined, share);
      bar.style.width = 100 * g.bytes / Math.max(shown[0].bytes, 1) + '%';
      bar.style.background = this.baseColour(g.largest);
      element('td', g.count.toLocaleString('en'), r, 'n');
      const cell = element('td', undefined, r), dot = element('span', undefined, cell, 'dot');
      dot.style.background = bar.style.background;
      cell.append(this.meta.kinds[kind]);
      const text = this.by === 'kind' ? s.siteText(d.stack[g.largest]) : name(g.k);
      const where = element('td', undefined, r, 'where');
      element('bdi', text, where);
      where.title = text;
      element('td', d.start[g.oldest] ? (d.start[g.oldest] + d.first - 1).toLocaleString('en') : 'before', r, 'n');
      r.addEventListener('pointermove', e => this.blockTip(g.largest, e, countText(g.count, 'block') + ', the largest:'));
      r.addEventListener('pointerleave', () => this.hideTip());
      r.addEventListener('click', () => { $('search').value = name(g.k); this.search(name(g.k)); });
    }
    const rest = list.length - shown.length;
    let note = rest ? countText(rest, 'smaller holder') + ' not shown. ' : '';
    if (this.query) note += bytesText(total) + ' of ' + bytesText(d.total[this.instant]) + ' match “' + this.query + '”.';
    $('holdersNote').textContent = note;
  }

  // Tips. Text from the file reaches the page as text alone.

  tip(e, lines, stack = -1) {
    const t = $('tip');
    t.replaceChildren();
    lines.forEach((l, i) => element(i ? 'div' : 'b', l, t, i ? 'line' : ''));
    if (stack >= 0) {
      const s = this.stacks, list = element('ol', undefined, t), site = s.siteText(stack);
      const shown = s.shown(stack, 2), left = s.frameIds(stack).length - shown.length;
      for (const f of shown.slice(0, 14)) {
        const [name, file, line] = s.frames[f];
        const isSite = site === (file + (line ? ':' + line : '') + ' ' + name).trim();
        element('li', shorten(s.frameText(f), 120), list, isSite ? 'site' : '');
      }
      const more = [];
      if (shown.length > 14) more.push(shown.length - 14 + ' more');
      if (left) more.push(countText(left, 'native frame') + ' left out');
      if (more.length) element('li', '(' + more.join(', ') + ')', list);
      if (!shown.length) element('li', '(no stack was recorded)', list);
    }
    t.hidden = false;
    const x = Math.min(e.clientX + 14, innerWidth - t.offsetWidth - 8), above = e.clientY + 18 + t.offsetHeight > innerHeight;
    t.style.left = Math.max(x, 8) + 'px';
    t.style.top = Math.max(above ? e.clientY - t.offsetHeight - 12 : e.clientY + 18, 8) + 'px';
  }
  hideTip() { $('tip').hidden = true; }

  blockTip(a, e, first) {
    const d = this.device, kind = this.meta.kinds[d.kind[a]], module = this.meta.modules[d.module[a]];
    const end = d.end[a] === forever ? 'to the end' : 'to event ' + (d.end[a] + d.first - 1).toLocaleString('en');
    const start = d.start[a] ? 'from event ' + (d.start[a] + d.first - 1).toLocaleString('en') : 'from before';
    const lines = [bytesText(d.size[a]) + ' ' + kind + (module ? ' of ' + module : ''), 'live ' + start + ' ' + end + ', at 0x' + (BigInt(d.base) + BigInt(Math.round(d.addr[a]))).toString(16)];
    if (first) lines.unshift(first);
    this.tip(e, lines, d.stack[a]);
  }

  timelineTip(hit, e) {
    if (!hit) return this.hideTip();
    const d = this.device, bands = this.timeline.drawn.bands, i = hit.instant;
    const when = 'event ' + (i + d.first).toLocaleString('en') + (d.clock[d.events] ? ', ' + timeText(d.clock[i]) : '') + ': ' + bytesText(d.total[i]) + ' live of ' + bytesText(d.reserved(i)) + ' reserved';
    if (hit.band < 0) return this.tip(e, [when]);
    if (bands.block && hit.band !== bands.merged) return this.blockTip(bands.block[hit.band], e, when);
    const name = hit.band === bands.merged ? bands.names[hit.band] + ', of which ' + countText(hit.merged, 'block') + ' live here' : bands.names[hit.band];
    let largest = -1, count = 0;
    for (const a of d.liveAt(i)) if (bands.of[a] === hit.band) {
      count++;
      if (largest < 0 || d.size[a] > d.size[largest]) largest = a;
    }
    this.tip(e, [bytesText(hit.bytes) + ' ' + name, when, countText(count, 'block') + ', the largest ' + bytesText(largest < 0 ? 0 : d.size[largest]) + ':'], largest < 0 ? -1 : d.stack[largest]);
  }

  segmentTip(hit, e) {
    if (!hit) return this.hideTip();
    const d = this.device, s = hit.span;
    const segment = 'segment of ' + bytesText(s.size) + ' at 0x' + (BigInt(d.base) + BigInt(Math.round(s.addr))).toString(16) + ', ' + countText(s.blocks.length, 'live block');
    if (hit.block !== undefined) return this.blockTip(hit.block, e, segment);
    this.tip(e, [bytesText(hit.hole) + ' free', segment]);
  }

  flameTip(box, e) {
    if (!box) return this.hideTip();
    const n = box.node, d = this.device, kinds = [...n.kinds.keys()].filter(k => n.kinds[k]).sort((a, b) => n.kinds[b] - n.kinds[a]);
    const share = (100 * n.bytes / Math.max(d.total[this.instant], 1)).toFixed(1) + '% of what is live, ' + countText(n.count, 'block');
    const name = n.frame >= 0 ? this.stacks.frameText(n.frame) : this.flame.label(n);
    this.tip(e, [shorten(name, 160), bytesText(n.bytes) + ', ' + share, kinds.slice(0, 5).map(k => this.meta.kinds[k] + ' ' + bytesText(n.kinds[k])).join(', ')]);
  }
}

// shorten keeps the end of a text, where a path has what matters.
function shorten(text, most) { return text.length <= most ? text : '…' + text.slice(text.length - most + 1); }

async function main() {
  const meta = JSON.parse($('meta').textContent);
  const stacks = new Stacks(meta, await inflate('stacks'));
  const page = new Page(meta, stacks);
  for (let i = 0; i < meta.devices.length; i++) page.devices.push(new Device(meta.devices[i], await inflate('device' + i), stacks));
  if (!page.devices.length) { $('title').textContent = meta.title + ': nothing to show'; return; }
  window.memview = page; // for tests and for the curious
  page.start();
}
main().catch(e => { $('title').textContent = 'This page could not be read: ' + e.message; throw e; });
