// What the page is about: the tables of stacks, and for each device its blocks,
// events and segments as typed arrays. An instant i is after the first i events;
// a block is live at the instants from start to before end.

const forever = 0xffffffff;

async function inflate(id) {
  const text = document.getElementById(id).textContent;
  const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

const arrayTypes = { u8: Uint8Array, u32: Uint32Array, f64: Float64Array };

// Stacks answers questions about call stacks, innermost frame first.
class Stacks {
  constructor(meta, buffer) {
    this.frames = meta.frames;
    this.sites = meta.sites;
    this.n = meta.stacks;
    this.ends = new Uint32Array(buffer, 0, this.n);
    const second = Math.ceil(this.n * 4 / 8) * 8;
    this.site = new Uint32Array(buffer, second, this.n);
    this.flat = new Uint32Array(buffer, 2 * second);
  }
  frameIds(stack) {
    return this.flat.subarray(stack ? this.ends[stack - 1] : 0, this.ends[stack]);
  }
  siteText(stack) { return this.sites[this.site[stack]]; }
  frameText(id) {
    const [name, file, line] = this.frames[id];
    if (!file || file === '??') return name || '?';
    return name + '  ' + file + (line ? ':' + line : '');
  }
  // level is 4 for a frame of the program's own, 3 for a package's, 2 for a
  // library's that allocates for it, less for native code.
  level(id) { return this.frames[id][3]; }
  // shown returns a stack's frames of a level or more; where it has none, the
  // highest it has.
  shown(stack, level) {
    const ids = this.frameIds(stack);
    let most = 0;
    for (const f of ids) most = Math.max(most, this.frames[f][3]);
    return ids.filter(f => this.frames[f][3] >= Math.min(level, most));
  }
}

// Device is one allocator's history.
class Device {
  constructor(meta, buffer, stacks) {
    Object.assign(this, meta);
    this.stacks = stacks;
    for (const c of meta.columns) this[c.name] = new arrayTypes[c.type](buffer, c.offset, c.length);
    const n = this.blocks, events = this.events;
    this.end = new Uint32Array(n);
    this.born = new Int32Array(events + 1).fill(-1); // by instant
    this.died = new Int32Array(events + 1).fill(-1);
    for (let a = 0; a < n; a++) {
      this.end[a] = this.life[a] === forever ? forever : this.start[a] + this.life[a];
      if (a >= this.before) this.born[this.start[a]] = a;
      if (this.end[a] !== forever) this.died[this.end[a]] = a;
    }
    this.total = new Float64Array(events + 1);
    this.count = new Uint32Array(events + 1);
    let live = 0, count = 0;
    for (let a = 0; a < this.before; a++) { live += this.size[a]; count++; }
    for (let i = 0; i <= events; i++) {
      if (this.died[i] >= 0) { live -= this.size[this.died[i]]; count--; }
      if (this.born[i] >= 0) { live += this.size[this.born[i]]; count++; }
      this.total[i] = live;
      this.count[i] = count;
    }
    this.clock = new Float64Array(events + 1); // microseconds since the first event
    for (let i = 1; i <= events; i++) this.clock[i] = this.clock[i - 1] + this.times[i - 1];
    this.reservedAt = [];
    let reserved = 0;
    for (let k = 0; k < this.segments; k++) {
      reserved += this.segSize[k];
      this.reservedAt.push(reserved);
    }
    this.reservedMax = this.reservedAt.reduce((a, b) => Math.max(a, b), 0);
  }
  // reserved returns the bytes of segments at an instant.
  reserved(i) {
    const k = upper(this.segInstant, i);
    return k ? this.reservedAt[k - 1] : 0;
  }
  // instantAtTime returns the last instant not later than a time.
  instantAtTime(us) { return Math.max(upper(this.clock, us) - 1, 0); }
  live(a, i) { return this.start[a] <= i && i < this.end[a]; }
  liveAt(i) {
    const list = [];
    for (let a = 0; a < this.blocks && this.start[a] <= i; a++) if (i < this.end[a]) list.push(a);
    return list;
  }
  // spans returns what is reserved at an instant, as {addr, size}, by address.
  spans(i) {
    let spans = [];
    const cut = (from, to) => {
      const kept = [];
      for (const s of spans) {
        const end = s.addr + s.size;
        if (end <= from || s.addr >= to) { kept.push(s); continue; }
        if (s.addr < from) kept.push({ addr: s.addr, size: from - s.addr });
        if (end > to) kept.push({ addr: to, size: end - to });
      }
      spans = kept;
    };
    const exact = new Map(); // most changes are of whole spans
    for (let k = 0; k < this.segments && this.segInstant[k] <= i; k++) {
      const addr = this.segAddr[k], size = this.segSize[k];
      if (size > 0) exact.set(addr, Math.max(size, exact.get(addr) || 0));
      else if (exact.get(addr) === -size) exact.delete(addr);
      else {
        spans = [...exact].map(([addr, size]) => ({ addr, size }));
        cut(addr, addr - size);
        exact.clear();
        for (const s of spans) exact.set(s.addr, s.size);
      }
    }
    return [...exact].map(([addr, size]) => ({ addr, size })).sort((a, b) => a.addr - b.addr);
  }
}

// upper returns how many of a sorted array's values are not above x.
function upper(array, x) {
  let lo = 0, hi = array.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (array[mid] <= x) lo = mid + 1; else hi = mid;
  }
  return lo;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function bytesText(n, digits = 2) {
  let u = 0, v = Math.abs(n);
  while (v >= 1024 && u < units.length - 1) { v /= 1024; u++; }
  return (n < 0 ? '−' : '') + (u ? v.toFixed(digits) : String(v)) + ' ' + units[u];
}

function countText(n, noun) { return n.toLocaleString('en') + ' ' + noun + (n === 1 ? '' : 's'); }

function timeText(us) {
  if (us < 1e3) return us.toFixed(0) + ' µs';
  if (us < 1e6) return (us / 1e3).toFixed(us < 1e4 ? 2 : 1) + ' ms';
  return (us / 1e6).toFixed(us < 1e7 ? 3 : 2) + ' s';
}
