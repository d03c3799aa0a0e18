// The segments at the chosen instant: a bar each, blocks in their kinds' colours
// and holes between them. Bars flow in rows; one shape is filled for each colour.

const rowHeight = 20, rowGap = 6, barGap = 4, maxSegments = 600, minBar = 6;

class Segments {
  constructor(page, canvas) {
    this.page = page;
    this.painter = new Painter(canvas);
    canvas.addEventListener('pointermove', e => page.segmentTip(this.at(e.offsetX, e.offsetY), e));
    canvas.addEventListener('pointerleave', () => page.hideTip());
  }

  // layout places the bars: the width of the largest is the panel's.
  layout() {
    const { device: d, instant } = this.page;
    const spans = d.spans(instant);
    const shown = spans.length > maxSegments ? [...spans].sort((a, b) => b.size - a.size).slice(0, maxSegments).sort((a, b) => a.addr - b.addr) : spans;
    const width = Math.max(this.painter.canvas.clientWidth, 100);
    const largest = shown.reduce((m, s) => Math.max(m, s.size), 1), total = shown.reduce((m, s) => m + s.size, 0);
    // Enough rows to see blocks, not so many that the panel is all bars.
    const scale = Math.min(width / largest, width * 14 / Math.max(total, 1));
    let x = 0, row = 0;
    for (const s of shown) {
      s.w = Math.max(s.size * scale, minBar);
      if (x > 0 && x + s.w > width) { x = 0; row++; }
      s.x = x;
      s.y = row * (rowHeight + rowGap);
      x += s.w + barGap;
    }
    this.bars = shown;
    this.hidden = spans.length - shown.length;
    return { spans, height: Math.max((row + 1) * (rowHeight + rowGap) - rowGap, rowHeight) };
  }

  // place sorts the live blocks into the bars.
  place(spans) {
    const { device: d, instant } = this.page;
    const blocks = d.liveAt(instant).sort((a, b) => d.addr[a] - d.addr[b]);
    let k = 0;
    this.stray = 0;
    for (const s of spans) {
      s.blocks = [];
      while (k < blocks.length && d.addr[blocks[k]] < s.addr) { k++; this.stray++; }
      while (k < blocks.length && d.addr[blocks[k]] < s.addr + s.size) s.blocks.push(blocks[k++]);
    }
    this.stray += blocks.length - k;
    this.figures(spans);
  }

  // figures sums the holes. Blocks take a multiple of 512 bytes.
  figures(spans) {
    const d = this.page.device;
    this.free = 0;
    this.largest = 0;
    this.whole = 0;
    for (const s of spans) {
      let at = s.addr;
      for (const a of s.blocks) {
        this.hole(d.addr[a] - at);
        at = Math.max(at, d.addr[a] + Math.ceil(d.size[a] / 512) * 512);
      }
      this.hole(s.addr + s.size - at);
      if (!s.blocks.length) this.whole += s.size;
    }
  }
  hole(size) {
    if (size <= 0) return;
    this.free += size;
    this.largest = Math.max(this.largest, size);
  }

  draw() {
    const { spans, height } = this.layout();
    this.place(spans);
    const p = this.painter, page = this.page, d = page.device;
    p.begin(height);
    const holes = new Path2D(), shapes = new Map();
    for (const s of this.bars) {
      holes.roundRect(s.x, s.y, s.w, rowHeight, 3);
      const pixels = Math.ceil(s.w);
      let run = 0, colour = null;
      const flush = (to) => {
        if (colour !== null && to > run) {
          if (!shapes.has(colour)) shapes.set(colour, new Path2D());
          shapes.get(colour).rect(s.x + run, s.y, Math.min(to, s.w) - run, rowHeight);
        }
        run = to;
      };
      // A pixel has the colour of the block that begins last before its middle.
      let k = 0;
      for (let x = 0; x < pixels; x++) {
        const addr = s.addr + (x + .5) / s.w * s.size;
        while (k < s.blocks.length && d.addr[s.blocks[k]] <= addr) k++;
        const a = s.blocks[k - 1];
        const here = k > 0 && addr < d.addr[a] + d.size[a] ? page.blockColour(a) : null;
        const next = k > 0 && d.addr[a] > s.addr + (x - .5) / s.w * s.size && run < x;
        if (here !== colour || next) {
          flush(next && here === colour && colour !== null ? x - .6 : x);
          run = x;
          colour = here;
        }
      }
      flush(pixels);
    }
    p.fill(holes, theme('hole'));
    for (const [colour, path] of shapes) p.fill(path, colour);
    p.stroke(holes, theme('rule'));
    if (!this.bars.length) p.text('no segments at this instant', 0, rowHeight / 2, theme('soft'));
  }

  at(x, y) {
    for (const s of this.bars || []) {
      if (x < s.x || x > s.x + s.w || y < s.y || y > s.y + rowHeight) continue;
      const d = this.page.device, addr = s.addr + (x - s.x) / s.w * s.size;
      let before = s.addr;
      for (const a of s.blocks) {
        if (addr < d.addr[a]) return { span: s, hole: d.addr[a] - before, addr: before };
        const end = d.addr[a] + d.size[a];
        if (addr < end) return { span: s, block: a };
        before = d.addr[a] + Math.ceil(d.size[a] / 512) * 512;
      }
      return { span: s, hole: Math.max(s.addr + s.size - before, 0), addr: before };
    }
    return null;
  }
}
