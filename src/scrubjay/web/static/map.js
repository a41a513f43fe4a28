// A scatter plot of up to 100,000 points, drawn pixel by pixel into an image.
//
// A general plotting library takes more than a second to recolour that many points and wants to
// write inline styles, which the page's policy forbids; this takes some 20 ms and needs no GPU.

const MARGIN = { left: 52, right: 14, top: 40, bottom: 46 };
const EDGE = 8; // pixels around the image into which points may reach
const BINS = 256;
const LONGEST_STEP = 80; // pixels; where keys jump about, a line would only hide the points
// viridis
const STOPS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37],
];

export function format(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace("e+", "e");
  if (size >= 1e3) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

const palettes = new Map();

function palette(dark) {
  if (!palettes.has(dark)) palettes.set(dark, makePalette(dark));
  return palettes.get(dark);
}

function makePalette(dark) {
  const found = [];
  for (let i = 0; i < BINS; i++) {
    const place = (i / (BINS - 1)) * (STOPS.length - 1), low = Math.min(Math.floor(place), STOPS.length - 2);
    const share = place - low;
    // on a dark page the dark end would not be seen
    const lift = dark ? 0.22 * (1 - i / BINS) : 0;
    found.push(STOPS[low].map((v, c) => {
      const plain = v + share * (STOPS[low + 1][c] - v);
      return Math.round(plain + lift * (255 - plain));
    }));
  }
  return found;
}

// the pixels of a disc: offsets and how much of each it covers
function disc(radius) {
  const found = [], reach = Math.ceil(radius);
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
      if (cover > 0.02) found.push([dx, dy, Math.round(255 * cover)]);
    }
  return found;
}

function niceTicks(low, high, n) {
  const rough = (high - low) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

export class ScatterMap {
  constructor(box, points, overlay) {
    this.box = box;
    this.points = points;
    this.overlay = overlay;
    this.x = this.y = new Float32Array(0);
    this.rows = new Int32Array(0);
    this.bins = null; // the colour of each point, null: all faint
    this.order = null;
    this.labels = ["", ""];
    this.walls = [];
    this.ratio = null; // units across that are as long as one unit up, where both are lengths
    this.marks = {};
    this.scale = [1, 1];
    this.flipped = [false, false]; // axes whose numbers grow to the left, or downwards
    this.center = [0, 0];
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(box);
    this.resize();
  }

  resize() {
    const pixels = Math.min(devicePixelRatio || 1, 2);
    const width = this.box.clientWidth, height = this.box.clientHeight;
    if (!width || (width === this.width && height === this.height && pixels === this.pixels)) return;
    const fits = this.width === undefined;
    Object.assign(this, { width, height, pixels });
    for (const canvas of [this.points, this.overlay]) {
      canvas.width = Math.round(width * pixels);
      canvas.height = Math.round(height * pixels);
    }
    if (fits) this.fit();
    this.draw();
  }

  get inner() {
    return [this.width - MARGIN.left - MARGIN.right, this.height - MARGIN.top - MARGIN.bottom];
  }

  setPoints(x, y, rows, { labels, walls, ratio, flipped }, keepView) {
    Object.assign(this, { x, y, rows, labels, walls, ratio, flipped });
    this.index = null;
    if (!keepView) this.fit();
  }

  // numbers between 0 and 1, NaN: not known; those with the larger numbers are drawn on top
  setColors(shares) {
    if (shares === null) {
      this.bins = this.order = null;
      return;
    }
    const n = shares.length, bins = new Uint16Array(n), counts = new Uint32Array(BINS + 2);
    for (let i = 0; i < n; i++) {
      const s = shares[i];
      // bin 0: not known
      bins[i] = Number.isNaN(s) ? 0 : 1 + Math.min(BINS - 1, Math.max(0, Math.floor(s * BINS)));
      counts[bins[i] + 1]++;
    }
    for (let b = 1; b < counts.length; b++) counts[b] += counts[b - 1];
    const order = new Uint32Array(n);
    for (let i = 0; i < n; i++) order[counts[bins[i]]++] = i;
    this.bins = bins;
    this.order = order;
  }

  fit() {
    const finite = (values) => {
      let low = Infinity, high = -Infinity;
      for (const v of values) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
      return low <= high ? [low, high] : [0, 1];
    };
    let [x0, x1] = finite(this.x), [y0, y1] = finite(this.y);
    for (const [ax, ay, bx, by] of this.walls) {
      x0 = Math.min(x0, ax, bx); x1 = Math.max(x1, ax, bx);
      y0 = Math.min(y0, ay, by); y1 = Math.max(y1, ay, by);
    }
    this.center = [(x0 + x1) / 2, (y0 + y1) / 2];
    const [width, height] = this.inner;
    const wide = (x1 - x0) * 1.06 || 1, high = (y1 - y0) * 1.06 || 1;
    this.scale = [Math.max(width, 50) / wide, Math.max(height, 50) / high];
    if (this.ratio) {
      const unit = Math.min(this.scale[0] * this.ratio, this.scale[1]);
      this.scale = [unit / this.ratio, unit];
    }
    this.scale = this.scale.map((s, i) => (this.flipped[i] ? -s : s));
  }

  toScreen(x, y) {
    const [width, height] = this.inner;
    return [
      MARGIN.left + width / 2 + (x - this.center[0]) * this.scale[0],
      MARGIN.top + height / 2 - (y - this.center[1]) * this.scale[1],
    ];
  }

  toWorld(px, py) {
    const [width, height] = this.inner;
    return [
      this.center[0] + (px - MARGIN.left - width / 2) / this.scale[0],
      this.center[1] - (py - MARGIN.top - height / 2) / this.scale[1],
    ];
  }

  zoom(factor, px = MARGIN.left + this.inner[0] / 2, py = MARGIN.top + this.inner[1] / 2) {
    const [x, y] = this.toWorld(px, py);
    this.scale = this.scale.map((s) => s * factor);
    const [nx, ny] = this.toWorld(px, py);
    this.center = [this.center[0] + x - nx, this.center[1] + y - ny];
    this.draw();
  }

  pan(dx, dy) {
    this.center = [this.center[0] - dx / this.scale[0], this.center[1] + dy / this.scale[1]];
    this.draw();
  }

  // the index of the drawn point nearest to a place on the screen, -1 beyond `reach` pixels
  nearest(px, py, reach = 24) {
    const [x, y] = this.toWorld(px, py), [sx, sy] = this.scale;
    let best = -1, least = reach * reach;
    for (let i = 0; i < this.x.length; i++) {
      const dx = (this.x[i] - x) * sx, dy = (this.y[i] - y) * sy, d = dx * dx + dy * dy;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }

  // the index of the nearest point in a direction from a place: within 45 degrees of it
  next([x, y], right, up) {
    const [sx, sy] = this.scale;
    let best = -1, least = Infinity;
    for (let i = 0; i < this.x.length; i++) {
      const dx = (this.x[i] - x) * sx, dy = (this.y[i] - y) * sy;
      const along = dx * right + dy * up, across = Math.abs(dx * up) + Math.abs(dy * right);
      if (along > 1 && across <= along && along + across < least) { least = along + across; best = i; }
    }
    return best;
  }

  indexOf(row) {
    if (!this.index) {
      this.index = new Map();
      this.rows.forEach((r, i) => this.index.set(r, i));
    }
    return this.index.get(row) ?? -1;
  }

  get radius() {
    const n = this.x.length;
    return n > 50000 ? 1.6 : n > 10000 ? 2.1 : n > 2000 ? 2.8 : 3.6;
  }

  draw() {
    if (!this.width) return;
    this.drawPoints();
    this.drawOverlay();
  }

  drawPoints() {
    const context = this.points.getContext("2d"), { pixels } = this;
    const w = this.points.width + 2 * EDGE, h = this.points.height + 2 * EDGE;
    if (!this.image || this.image.width !== w || this.image.height !== h) this.image = new ImageData(w, h);
    const data = new Uint32Array(this.image.data.buffer);
    data.fill(0);
    const faint = this.style("--faint"), colors = [faint, ...palette(this.dark.matches)];
    const packed = Uint32Array.from(colors, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
    const mask = disc(Math.min(this.radius * pixels, EDGE - 1));
    const offsets = Int32Array.from(mask, ([dx, dy]) => dy * w + dx);
    const covers = Uint8Array.from(mask, (m) => m[2]);
    const [width, height] = this.inner, [sx, sy] = this.scale.map((s) => s * pixels);
    const x0 = (MARGIN.left + width / 2) * pixels - this.center[0] * sx + EDGE + 0.5;
    const y0 = (MARGIN.top + height / 2) * pixels + this.center[1] * sy + EDGE + 0.5;
    const { x, y, order, bins } = this, n = x.length;
    if (this.places?.length !== n) this.places = new Int32Array(n);
    const places = this.places;
    const left = MARGIN.left * pixels + EDGE, right = w - MARGIN.right * pixels - EDGE;
    const top = MARGIN.top * pixels + EDGE, bottom = h - MARGIN.bottom * pixels - EDGE;
    // first all places in the order of the rows, which reads memory in sequence
    for (let i = 0; i < n; i++) {
      const px = Math.floor(x0 + x[i] * sx), py = Math.floor(y0 - y[i] * sy);
      places[i] = px >= left && px <= right && py >= top && py <= bottom ? py * w + px : -1;
    }
    for (let k = 0; k < n; k++) {
      const i = order ? order[k] : k, base = places[i];
      if (base < 0) continue;
      const color = packed[bins ? bins[i] : 0];
      for (let m = 0; m < offsets.length; m++) {
        const at = base + offsets[m], cover = covers[m];
        if (cover === 255) data[at] = color;
        else data[at] = blend(data[at], color, cover);
      }
    }
    context.putImageData(this.image, -EDGE, -EDGE);
  }

  style(name) {
    const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  }

  drawOverlay() {
    const c = this.overlay.getContext("2d"), look = getComputedStyle(document.documentElement);
    const color = (name) => look.getPropertyValue(name).trim();
    c.setTransform(this.pixels, 0, 0, this.pixels, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    this.drawAxes(c, color);
    c.save();
    c.beginPath();
    c.rect(MARGIN.left, MARGIN.top, ...this.inner);
    c.clip();
    this.drawWalls(c, color);
    this.drawMarks(c, color);
    c.restore();
  }

  drawAxes(c, color) {
    const [width, height] = this.inner, bottom = MARGIN.top + height;
    const [x0, y0] = this.toWorld(MARGIN.left, bottom), [x1, y1] = this.toWorld(MARGIN.left + width, MARGIN.top);
    c.font = '12px system-ui, "Segoe UI", "Noto Sans", sans-serif';
    c.fillStyle = color("--soft");
    c.strokeStyle = color("--line");
    c.lineWidth = 1;
    c.strokeRect(MARGIN.left + 0.5, MARGIN.top + 0.5, width - 1, height - 1);
    c.textBaseline = "top";
    c.textAlign = "center";
    const across = niceTicks(Math.min(x0, x1), Math.max(x0, x1), Math.max(3, width / 110));
    const up = niceTicks(Math.min(y0, y1), Math.max(y0, y1), Math.max(3, height / 80));
    for (const t of across.ticks) c.fillText(tick(t, across.digits), this.toScreen(t, 0)[0], bottom + 5);
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const t of up.ticks) c.fillText(tick(t, up.digits), MARGIN.left - 6, this.toScreen(0, t)[1]);
    c.fillStyle = color("--ink");
    c.textAlign = "center";
    c.textBaseline = "top";
    c.fillText(this.labels[0], MARGIN.left + width / 2, bottom + 24);
    c.textAlign = "left";
    c.fillText(this.labels[1], 10, 14);
  }

  drawWalls(c, color) {
    c.strokeStyle = color("--ink");
    c.lineWidth = 2;
    c.beginPath();
    for (const [ax, ay, bx, by] of this.walls) {
      c.moveTo(...this.toScreen(ax, ay));
      c.lineTo(...this.toScreen(bx, by));
    }
    c.stroke();
  }

  drawMarks(c, color) {
    const { path, step, overestimated, state, neighbors } = this.marks;
    const ring = (at, radius, stroke, width) => {
      const [px, py] = this.toScreen(...at);
      for (const [s, w] of [[color("--paper"), width + 1.5], [stroke, width]]) {
        c.strokeStyle = s;
        c.lineWidth = w;
        c.beginPath();
        c.arc(px, py, radius, 0, 2 * Math.PI);
        c.stroke();
      }
    };
    for (const at of overestimated ?? []) ring(at, 5, color("--warn-line"), 1.6);
    if (path?.length) {
      const on = path.map((at) => this.toScreen(...at));
      const jump = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by) > LONGEST_STEP;
      c.lineJoin = "round";
      for (const [s, w, dot] of [[color("--paper"), 4, 3], [color("--path"), 2, 2]]) {
        c.strokeStyle = c.fillStyle = s;
        c.lineWidth = w;
        c.beginPath();
        on.forEach((at, i) => (i && !jump(on[i - 1], at) ? c.lineTo(...at) : c.moveTo(...at)));
        c.stroke();
        for (const [px, py] of on) c.fillRect(px - dot, py - dot, 2 * dot, 2 * dot);
      }
      if (path[step]) {
        c.fillStyle = color("--path");
        c.beginPath();
        c.arc(...this.toScreen(...path[step]), 6, 0, 2 * Math.PI);
        c.fill();
      }
    }
    if (state) {
      c.strokeStyle = color("--soft");
      c.lineWidth = 1;
      c.beginPath();
      for (const { at } of neighbors ?? []) if (at) {
        c.moveTo(...this.toScreen(...state));
        c.lineTo(...this.toScreen(...at));
      }
      c.stroke();
    }
    // the one that is followed comes last, on top
    for (const { at, fill, chosen } of [...(neighbors ?? [])].sort((a, b) => a.chosen - b.chosen)) {
      if (!at) continue;
      if (fill !== null && fill !== undefined) {
        c.fillStyle = this.colorAt(fill);
        c.beginPath();
        c.arc(...this.toScreen(...at), 5, 0, 2 * Math.PI);
        c.fill();
      }
      ring(at, chosen ? 7.5 : 5, color(chosen ? "--accent" : "--ink"), chosen ? 3 : 1.3);
    }
    if (state) {
      const [px, py] = this.toScreen(...state);
      for (const [s, w] of [[color("--paper"), 5], [color("--ink"), 2]]) {
        c.strokeStyle = s;
        c.lineWidth = w;
        c.beginPath();
        for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
          c.moveTo(px + 4 * dx, py + 4 * dy);
          c.lineTo(px + 13 * dx, py + 13 * dy);
        }
        c.stroke();
      }
    }
  }

  colorAt(share) {
    const [r, g, b] = palette(this.dark.matches)[Math.min(BINS - 1, Math.max(0, Math.floor(share * BINS)))];
    return `rgb(${r} ${g} ${b})`;
  }

  drawScale(canvas, reversed) {
    const c = canvas.getContext("2d");
    for (let i = 0; i < canvas.width; i++) {
      const share = i / (canvas.width - 1);
      c.fillStyle = this.colorAt(reversed ? 1 - share : share);
      c.fillRect(i, 0, 1, canvas.height);
    }
  }
}

function tick(value, digits) {
  return Math.abs(value) >= 1e5 ? format(value) : value.toFixed(Math.min(digits, 8)).replace(/^-(0\.?0*)$/, "$1");
}

function blend(under, over, cover) {
  const alpha = under >>> 24;
  if (alpha === 0) return (((over & 0xffffff) | (cover << 24)) >>> 0);
  const rest = 255 - cover;
  // (257 v + 257) / 65536 is v / 255, rounded down
  const r = ((((under & 255) * rest + (over & 255) * cover) * 257 + 257) >>> 16) & 255;
  const g = (((((under >> 8) & 255) * rest + ((over >> 8) & 255) * cover) * 257 + 257) >>> 16) & 255;
  const b = (((((under >> 16) & 255) * rest + ((over >> 16) & 255) * cover) * 257 + 257) >>> 16) & 255;
  return ((Math.max(alpha, cover) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
