// What the timeline stacks, and in which colours.

// Colours that stay apart for the colour-blind, in both themes. Kinds have theirs
// by name, so that pages can be compared.
const palette = ['#4477aa', '#ee8866', '#44aa99', '#aa4499', '#ddaa33', '#66a3d2', '#cc6677', '#88aa44', '#7d6cc0', '#2f8f6b', '#c77a2e', '#5f8fae', '#b5657f', '#9a9a3f', '#6a7fb5', '#a86f4f'];
const kindColours = {
  parameter: '#4477aa', buffer: '#66a3d2', gradient: '#ee8866', 'optimizer state': '#aa4499', activation: '#44aa99',
  input: '#ddaa33', workspace: '#cc6677', unknown: '#8d99a5',
};
const restColour = '#9aa5af';

function kindColour(name, index) { return kindColours[name] || palette[(index + 7) % palette.length]; }

// Bands divide a device's blocks: of[block] is the band, or -1 for none. The band
// merged, if there is one, holds what is too small to be told apart.
class Bands {
  constructor(of, names, colours, merged = -1) {
    Object.assign(this, { of, names, colours, merged });
    this.n = names.length;
  }
}

// kindOrder is from the bottom up: what stays lies below what comes and goes.
const kindOrder = ['parameter', 'buffer', 'optimizer state', 'gradient', 'unknown', 'input', 'activation', 'workspace'];

function bandsByKind(dev, page) {
  const kinds = page.meta.kinds, rank = name => (kindOrder.indexOf(name) + kindOrder.length + 1) % (kindOrder.length + 1);
  const order = [...kinds.keys()].sort((a, b) => rank(kinds[a]) - rank(kinds[b]) || a - b);
  const band = new Uint8Array(256);
  order.forEach((k, at) => { band[k] = at; });
  const of = dev.kind.map(k => band[k]);
  return new Bands(of, order.map(k => kinds[k]), order.map(k => kindColour(kinds[k], k)));
}

// topGroups makes bands of the groups that hold most over the whole trace.
function topGroups(dev, group, groups, name, most, noun) {
  const area = new Float64Array(groups);
  for (let a = 0; a < dev.blocks; a++) {
    const end = Math.min(dev.end[a], dev.events + 1);
    area[group(a)] += dev.size[a] * Math.max(end - dev.start[a], 0);
  }
  const order = [...area.keys()].filter(g => area[g] > 0).sort((x, y) => area[y] - area[x]);
  const shown = order.length <= most + 1 ? order : order.slice(0, most);
  // From the bottom up, as with kinds: the longest-lived first.
  const sizes = new Float64Array(groups);
  for (let a = 0; a < dev.blocks; a++) sizes[group(a)] += dev.size[a];
  shown.sort((x, y) => area[y] / sizes[y] - area[x] / sizes[x]);
  const band = new Int32Array(groups).fill(shown.length);
  shown.forEach((g, k) => { band[g] = k; });
  const of = new Int32Array(dev.blocks);
  for (let a = 0; a < dev.blocks; a++) of[a] = band[group(a)];
  const names = shown.map(name), colours = shown.map((_, k) => palette[k % palette.length]);
  let merged = -1;
  if (shown.length < order.length) {
    merged = shown.length;
    names.push(countText(order.length - shown.length, 'smaller ' + noun));
    colours.push(restColour);
  }
  return new Bands(of, names, colours, merged);
}

function bandsByLine(dev) {
  const s = dev.stacks;
  return topGroups(dev, a => s.site[dev.stack[a]], s.sites.length, g => s.sites[g], 15, 'line');
}

function bandsByStack(dev) {
  const s = dev.stacks;
  const bands = topGroups(dev, a => dev.stack[a], s.n, g => s.siteText(g), 15, 'stack');
  return bands;
}

function bandsByModule(dev, page) {
  return topGroups(dev, a => dev.module[a], page.meta.modules.length, g => page.meta.modules[g] || '(none)', 15, 'module');
}

// bandsByBlock makes a band of each of the largest blocks in a window, oldest
// first, and one of all others.
function bandsByBlock(dev, page, from, to) {
  const most = 240;
  const area = a => {
    const life = Math.min(dev.end[a], to + 1) - Math.max(dev.start[a], from);
    return life > 0 ? dev.size[a] * life : 0;
  };
  const areas = new Float64Array(dev.blocks);
  for (let a = 0; a < dev.blocks && dev.start[a] <= to; a++) areas[a] = area(a);
  areas.sort();
  const least = areas.length > most ? areas[areas.length - most - 1] : 0;
  const of = new Int32Array(dev.blocks).fill(-1);
  const list = [];
  let small = 0;
  for (let a = 0; a < dev.blocks && dev.start[a] <= to; a++) {
    const v = area(a);
    if (v > least) { of[a] = list.length; list.push(a); } else if (v > 0) { of[a] = -2; small++; }
  }
  for (let a = 0; a < dev.blocks; a++) if (of[a] === -2) of[a] = list.length;
  const names = list.map(a => dev.stacks.siteText(dev.stack[a]));
  const colours = list.map(a => shade(page.baseColour(a), a));
  let merged = -1;
  if (small) {
    merged = list.length;
    names.push(countText(small, 'smaller block'));
    colours.push(restColour);
  }
  const bands = new Bands(of, names, colours, merged);
  bands.block = list;
  return bands;
}

// bandsBySearch divides into what matches and the rest.
function bandsBySearch(dev, page) {
  const of = new Uint8Array(dev.blocks);
  for (let a = 0; a < dev.blocks; a++) of[a] = page.matches(dev, a) ? 0 : 1;
  return new Bands(of, ['matches “' + page.query + '”', 'all else'], [palette[1], restColour], -1);
}

// shade varies a colour a little, so that neighbours of one kind stay apart.
function shade(colour, n) {
  const k = [0, 0.16, -0.12, 0.08, -0.06, 0.22][n % 6];
  const part = at => {
    const v = parseInt(colour.slice(at, at + 2), 16);
    return Math.round(k > 0 ? v + (255 - v) * k : v * (1 + k)).toString(16).padStart(2, '0');
  };
  return '#' + part(1) + part(3) + part(5);
}

// sweep returns the height of each band at each of the given instants, which
// rise, in bytes, and how many blocks the merged band has there.
function sweep(dev, bands, instants) {
  const n = bands.n, heights = new Float64Array(n * instants.length), merged = new Uint32Array(instants.length);
  const now = new Float64Array(n), of = bands.of;
  let count = 0, at = 0;
  const change = (a, sign) => {
    const b = of[a];
    if (b < 0) return;
    now[b] += sign * dev.size[a];
    if (b === bands.merged) count += sign;
  };
  for (let a = 0; a < dev.before; a++) change(a, 1);
  for (let k = 0; k < instants.length; k++) {
    for (; at <= instants[k]; at++) {
      if (dev.died[at] >= 0) change(dev.died[at], -1);
      if (dev.born[at] >= 0) change(dev.born[at], 1);
    }
    heights.set(now, k * n);
    merged[k] = count;
  }
  return { heights, merged };
}
