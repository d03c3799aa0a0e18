// The flame graph of what is live at the chosen instant: outermost frames on top,
// a box as wide as its bytes. A box has the colour of the kind it holds most of.

const boxHeight = 19, maxDepth = 64;

class Flame {
  constructor(page, canvas) {
    this.page = page;
    this.painter = new Painter(canvas);
    this.focus = null; // frames from the root, as a path
    canvas.addEventListener('pointermove', e => page.flameTip(this.at(e.offsetX, e.offsetY), e));
    canvas.addEventListener('pointerleave', () => page.hideTip());
    canvas.addEventListener('click', e => {
      const box = this.at(e.offsetX, e.offsetY);
      if (box) this.zoom(box.node);
    });
  }

  zoom(node) {
    this.focus = node && node.parent ? this.path(node) : null;
    this.draw();
    document.getElementById('flameReset').hidden = !this.focus;
  }
  path(node) {
    const list = [];
    for (; node.parent; node = node.parent) list.unshift(node.frame);
    return list;
  }

  // build makes the tree of the live stacks.
  build() {
    const { device: d, instant, level } = this.page, s = d.stacks;
    const byStack = new Map();
    const kinds = this.page.meta.kinds.length;
    for (const a of d.liveAt(instant)) {
      let v = byStack.get(d.stack[a]);
      if (!v) byStack.set(d.stack[a], v = { bytes: 0, count: 0, kinds: new Float64Array(kinds) });
      v.bytes += d.size[a];
      v.count++;
      v.kinds[d.kind[a]] += d.size[a];
    }
    const make = (frame, parent) => ({ frame, parent, depth: parent ? parent.depth + 1 : 0, bytes: 0, count: 0, kinds: new Float64Array(kinds), children: new Map() });
    const root = make(-1, null);
    const add = (node, v) => {
      node.bytes += v.bytes;
      node.count += v.count;
      for (let k = 0; k < kinds; k++) node.kinds[k] += v.kinds[k];
    };
    for (const [stack, v] of byStack) {
      let node = root;
      add(root, v);
      const frames = s.shown(stack, level);
      for (let i = frames.length - 1; i >= 0; i--) {
        if (node.depth >= maxDepth) break;
        let child = node.children.get(frames[i]);
        if (!child) node.children.set(frames[i], child = make(frames[i], node));
        add(child, v);
        node = child;
      }
      if (node === root) { // no stack
        let child = root.children.get(-2);
        if (!child) root.children.set(-2, child = make(-2, root));
        add(child, v);
      }
    }
    return root;
  }

  label(node) {
    if (node.frame === -1) return 'all of ' + this.page.device.name;
    if (node.frame === -2) return '(no stack)';
    const [name, file, line] = this.page.device.stacks.frames[node.frame];
    return name + '  ' + (file ? file.split('/').pop() + (line ? ':' + line : '') : '');
  }

  draw() {
    const root = this.build(), page = this.page, p = this.painter;
    let top = root;
    for (const frame of this.focus || []) {
      const next = top.children.get(frame);
      if (!next) break;
      top = next;
    }
    const width = Math.max(p.canvas.clientWidth, 100);
    // Boxes by level, children in order of bytes; what is below a pixel is left out.
    const boxes = [], ancestors = [];
    for (let n = top; n; n = n.parent) ancestors.unshift(n);
    ancestors.forEach((node, depth) => boxes.push({ node, x: 0, w: width, depth, above: node !== top }));
    let level = [{ node: top, x: 0, w: width, depth: ancestors.length - 1 }];
    let deepest = ancestors.length - 1;
    while (level.length) {
      const next = [];
      for (const box of level) {
        let x = box.x;
        const children = [...box.node.children.values()].sort((a, b) => b.bytes - a.bytes || a.frame - b.frame);
        for (const node of children) {
          const w = box.node.bytes ? node.bytes / box.node.bytes * box.w : 0;
          if (w >= 1) {
            const child = { node, x, w, depth: box.depth + 1 };
            next.push(child);
            boxes.push(child);
            deepest = Math.max(deepest, child.depth);
          }
          x += w;
        }
      }
      level = next;
    }
    this.boxes = boxes;
    const g = p.begin((deepest + 1) * boxHeight);
    const shapes = new Map();
    for (const box of boxes) {
      const colour = this.colour(box);
      if (!shapes.has(colour)) shapes.set(colour, new Path2D());
      shapes.get(colour).rect(box.x, box.depth * boxHeight, Math.max(box.w - 1, .75), boxHeight - 1);
    }
    for (const [colour, path] of shapes) p.fill(path, colour);
    g.font = '11.5px system-ui, sans-serif';
    for (const box of boxes) {
      if (box.w < 34) continue;
      const text = fit(g, this.label(box.node) + (box.w > 260 ? '   ' + bytesText(box.node.bytes) : ''), box.w - 10);
      if (text) p.text(text, box.x + 5, box.depth * boxHeight + boxHeight / 2, box.above || this.dim(box) ? theme('ink') : '#ffffff', 'left', '11.5px system-ui, sans-serif');
    }
  }

  dim(box) { return this.page.query && !this.holdsMatch(box.node); }
  holdsMatch(node) {
    return node.frame >= 0 && this.page.frameMatches(node.frame);
  }
  colour(box) {
    if (box.above) return theme('grid');
    if (this.page.query) return this.holdsMatch(box.node) ? palette[1] : theme('grid');
    if (this.page.oneKind) return muted(box.node.frame < 0 ? restColour : palette[box.node.frame % palette.length], box.depth);
    let best = 0;
    const kinds = box.node.kinds;
    for (let k = 1; k < kinds.length; k++) if (kinds[k] > kinds[best]) best = k;
    return muted(kindColour(this.page.meta.kinds[best] || 'unknown', best), box.depth);
  }

  at(x, y) {
    const depth = Math.floor(y / boxHeight);
    return (this.boxes || []).find(b => b.depth === depth && x >= b.x && x < b.x + b.w) || null;
  }
}

// muted alternates a colour's depth from level to level, and keeps white text
// readable on it.
function muted(colour, depth) {
  const k = depth % 2 ? .86 : .78;
  return '#' + [1, 3, 5].map(at => Math.round(parseInt(colour.slice(at, at + 2), 16) * k).toString(16).padStart(2, '0')).join('');
}

// fit cuts text to a width.
function fit(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let lo = 0, hi = text.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (g.measureText(text.slice(0, mid) + '…').width <= width) lo = mid; else hi = mid - 1;
  }
  return lo > 2 ? text.slice(0, lo) + '…' : '';
}
