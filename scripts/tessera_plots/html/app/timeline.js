// Timeline on a canvas: a row a tile, operators as boxes; where these are narrower than a pixel, each
// pixel is divided by what they share of its time.
"use strict";

const MOST_LANES = 6;

// Operators of the file by row and lane; those of a lane do not overlap.
class Rows {
  constructor(timeline) {
    this.timeline = timeline;
    const count = timeline.length.length;
    this.start = new Float64Array(count);
    this.lanes = [];
    let at = 0;
    let shares = 0;
    this.binAt = [];
    timeline.kept.forEach((kept, row) => {
      this.lanes.push(this.read(at, kept));
      at += kept;
      this.binAt.push(timeline.whole[row] ? -1 : shares++);
    });
  }

  read(at, count) {
    const { pause, length } = this.timeline;
    const lanes = [];
    const ends = [];
    let before = 0;
    for (let i = at; i < at + count; i++) {
      const start = before + unzigzag(pause[i]);
      this.start[i] = start;
      before = start + length[i];
      let lane = ends.findIndex((end) => end <= start);
      if (lane < 0) lane = ends.length < MOST_LANES ? ends.length : MOST_LANES - 1;
      ends[lane] = Math.max(ends[lane] || 0, before);
      (lanes[lane] = lanes[lane] || []).push(i);
    }
    return lanes.length ? lanes : [[]];
  }

  // Place in a lane of the first operator that ends after a time.
  firstAfter(lane, time) {
    let low = 0;
    let high = lane.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const i = lane[middle];
      if (this.start[i] + this.timeline.length[i] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

class Timeline {
  constructor(run) {
    this.run = run;
    this.data = run.timeline;
    this.rows = new Rows(this.data);
    this.left = 150;
    this.heights = this.rows.lanes.map((lanes) => Math.max(this.usualHeight(), 9 * lanes.length));
    this.tops = [0];
    for (const height of this.heights) this.tops.push(this.tops[this.tops.length - 1] + height + 3);
    this.matches = new Uint8Array(this.data.kinds.length).fill(1);
    this.off = new Set();
    this.word = "";
    this.selected = null;
    this.build();
  }

  usualHeight() {
    const count = this.data.tiles.length;
    return count <= 12 ? 26 : count <= 40 ? 18 : 13;
  }

  build() {
    this.axis = new Canvas(24, "Time", (context, width) => this.drawAxis(context, width));
    this.canvas = new Canvas(this.tops[this.tops.length - 1] + 2,
      `Timeline of ${this.data.tiles.length} tiles`, (context, width) => this.draw(context, width));
    const { element } = this.canvas;
    element.tabIndex = 0;
    element.setAttribute("role", "application");
    element.setAttribute("aria-label", `Timeline of ${this.data.tiles.length} tiles. Keys: plus and `
      + "minus zoom, arrow keys move, N and P go to the next and previous operator, Enter shows it, 0 "
      + "shows all.");
    this.scroll = el("div", { class: "timeline scroll" }, element);
    this.scroll.addEventListener("scroll", () => this.canvas.redraw());
    this.said = el("p", { class: "note", id: "timeline-said" });
    this.element = el("div", {}, this.controls(), this.axis.element, this.scroll, this.said);
    VIEW.listeners.push(() => { this.axis.redraw(); this.canvas.redraw(); });
    this.listen(element);
    this.filter();
  }

  controls() {
    const names = this.data.categories.filter((name) => name !== "bubble");
    const boxes = names.map((name) => el("label", { class: "control" },
      el("input", { type: "checkbox", checked: true, onchange: (event) => {
        if (event.target.checked) this.off.delete(name);
        else this.off.add(name);
        this.filter();
      } }), el("span", { class: "swatch", style: `background:${this.colour(name)}` }),
      activityLabel(name)));
    return el("div", { class: "controls" }, el("label", { class: "control" }, "Find ", el("input", {
      type: "search", placeholder: "operator", oninput: (event) => {
        this.word = event.target.value.toLowerCase();
        this.filter();
      } })), ...boxes);
  }

  colour(name) {
    return activityColours(this.data.categories).get(name);
  }

  filter() {
    const { kinds, category, categories } = this.data;
    kinds.forEach((kind, i) => {
      this.matches[i] = !this.off.has(categories[category[i]])
        && (!this.word || kind.join(" ").toLowerCase().includes(this.word)) ? 1 : 0;
    });
    let count = 0;
    for (const kind of this.data.kind) count += this.matches[kind];
    const { data } = this;
    this.said.textContent = `${format(count, "count")} of ${format(data.in_file, "count")} operators shown`
      + (data.in_file < data.operators ? `; of ${format(data.operators, "count")} in the trace the others are `
        + `${data.binned ? this.binnedWords() : "of tiles that are not drawn"}` : "")
      + (data.tiles.length < data.in_trace ? `; ${data.tiles.length} of ${data.in_trace} tiles in the trace` : "")
      + ". Drag to zoom, shift and drag to move, double click for all.";
    this.canvas.redraw();
  }

  // Of the operators of tiles that do not have all of theirs in the file, which are summed up.
  binnedWords() {
    const { bins, binned, tiles, windows } = this.data;
    const spans = windows.map(([from, to]) => spanText(from, to));
    return `summed up in ${bins} bins: of ${binned === tiles.length ? "these tiles" : `${binned} tiles`} those that `
      + `run from ${spans.slice(0, -1).join(", ")}${spans.length > 1 ? " and " : ""}${spans[spans.length - 1]} are in `
      + "the file (more with --operators N)";
  }

  x(time) {
    return this.left + (time - VIEW.from) / (VIEW.to - VIEW.from) * (this.canvas.width - this.left);
  }

  time(x) {
    return VIEW.from + (x - this.left) / (this.canvas.width - this.left) * (VIEW.to - VIEW.from);
  }

  drawAxis(context, width) {
    context.fillStyle = THEME.colour("text");
    context.strokeStyle = THEME.colour("line");
    const span = VIEW.to - VIEW.from;
    const rough = span / Math.max(2, (width - this.left) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= rough);
    const [factor, unit] = unitOf("time", VIEW.to / 3);
    const places = Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9));
    for (let time = Math.ceil(VIEW.from / step) * step; time <= VIEW.to; time += step) {
      const x = this.x(time);
      context.fillRect(x, 19, 1, 5);
      const text = (time / factor).toFixed(places);
      const wide = context.measureText(text).width;
      context.fillText(text, Math.min(Math.max(x - wide / 2, this.left), width - wide), 14);
    }
    context.fillText(`time [${unit}]`, 4, 14);
  }

  draw(context, width) {
    if (width <= this.left) return;
    const top = PRINTING.ratio ? 0 : this.scroll.scrollTop;
    const bottom = PRINTING.ratio ? Infinity : top + this.scroll.clientHeight;
    this.colours = [...activityColours(this.data.categories).values()];
    this.idle = THEME.colour("idle");
    this.rgb = [...this.colours, THEME.colour("idle"), THEME.colour("dimmed")].map((colour) =>
      [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
    for (let row = 0; row < this.heights.length; row++) {
      if (this.tops[row + 1] < top || this.tops[row] > bottom) continue;
      this.drawRow(context, row, width - this.left);
    }
    context.fillStyle = THEME.colour("text");
    for (let row = 0; row < this.heights.length; row++) {
      if (this.tops[row + 1] < top || this.tops[row] > bottom) continue;
      this.drawLabel(context, row);
    }
  }

  drawLabel(context, row) {
    let text = this.data.labels[row];
    while (context.measureText(text).width > this.left - 14) text = `${text.slice(0, -2)}…`;
    context.fillText(text, 4, this.tops[row] + this.heights[row] / 2 + 4);
    if (this.selected && this.selected.row === row) {
      context.strokeStyle = THEME.colour("accent");
      context.lineWidth = 2;
      context.strokeRect(1, this.tops[row], this.left - 4, this.heights[row]);
    }
  }

  drawRow(context, row, width) {
    const lanes = this.rows.lanes[row];
    const height = this.heights[row] / lanes.length;
    context.fillStyle = this.idle;
    context.fillRect(this.left, this.tops[row], width, this.heights[row]);
    const wide = [];
    lanes.forEach((lane, number) => {
      const top = this.tops[row] + number * height;
      const columns = new Float32Array(width * (this.colours.length + 1));
      if (this.collect(row, lane, columns, width, wide, top, height)) {
        this.paint(context, columns, width, top, height);
      }
    });
    if (this.rows.binAt[row] >= 0) this.paintBins(context, row, width);
    for (const [i, x, end, top] of wide) this.box(context, i, x, end, top, height);
  }

  // Narrow operators are added to columns, [category, the last those that do not match]; wide ones are
  // drawn as boxes.
  collect(row, lane, columns, width, wide, top) {
    const { length, kind, category } = this.data;
    const scale = width / (VIEW.to - VIEW.from);
    const count = this.colours.length + 1;
    let any = false;
    for (let place = this.rows.firstAfter(lane, VIEW.from); place < lane.length; place++) {
      const i = lane[place];
      const start = this.rows.start[i];
      if (start >= VIEW.to) break;
      const x = Math.max((start - VIEW.from) * scale, 0);
      const end = Math.min((start + length[i] - VIEW.from) * scale, width);
      if (end - x > 2.5) wide.push([i, x, end, top]);
      else {
        const code = this.matches[kind[i]] ? category[kind[i]] : count - 1;
        any = true;
        for (let column = Math.floor(x); column < end && column < width; column++) {
          columns[column * count + code] += Math.min(end, column + 1) - Math.max(x, column);
        }
      }
    }
    return any;
  }

  paint(context, columns, width, top, height) {
    const count = this.colours.length + 1;
    const rows = Math.max(1, Math.round(height));
    const image = new ImageData(Math.ceil(width), rows);
    for (let column = 0; column < Math.floor(width); column++) {
      let filled = rows;
      for (let code = 0; code < count && filled > 0; code++) {
        const share = columns[column * count + code];
        if (!share) continue;
        const part = Math.min(filled, Math.max(1, Math.round(share * rows)));
        const [red, green, blue] = this.rgb[code === count - 1 ? count : code];
        for (let y = filled - part; y < filled; y++) {
          image.data.set([red, green, blue, 255], (y * image.width + column) * 4);
        }
        filled -= part;
      }
    }
    const aside = new OffscreenCanvas(image.width, rows);
    aside.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(aside, this.left, top, image.width, height);
  }

  paintBins(context, row, width) {
    const { bins, categories, shares, windows, end } = this.data;
    const count = categories.length + 1;
    const columns = new Float32Array(Math.ceil(width) * count);
    const first = this.rows.binAt[row] * categories.length * bins;
    for (let column = 0; column < width; column++) {
      const time = this.time(this.left + column);
      if (windows.some(([from, to]) => time >= from && time < to)) continue;
      const bin = Math.min(bins - 1, Math.floor(time / end * bins));
      for (let code = 0; code < categories.length; code++) {
        columns[column * count + code] = shares[first + code * bins + bin] / 255;
      }
    }
    this.paint(context, columns, width, this.tops[row], this.heights[row]);
  }

  box(context, i, x, end, top, height) {
    const { kind, category, kinds } = this.data;
    const matches = this.matches[kind[i]];
    const colour = matches ? this.colours[category[kind[i]]] : THEME.colour("dimmed");
    const wide = end - x;
    context.fillStyle = colour;
    context.fillRect(this.left + x, top, wide > 5 ? wide - 0.7 : wide, height - (height > 8 ? 1 : 0));
    if (this.selected && this.selected.i === i) {
      context.strokeStyle = THEME.colour("text");
      context.lineWidth = 2;
      context.strokeRect(this.left + x, top + 1, wide, height - 2);
    }
    if (wide < 34 || height < 11 || !matches) return;
    let [text] = kinds[kind[i]];
    if (context.measureText(text).width > wide - 6) {
      text = text.slice(0, Math.floor(text.length * (wide - 14) / context.measureText(text).width));
      if (text.length < 4) return;
      text += "…";
    }
    context.fillStyle = colour.startsWith("#") && colour.length === 7 ? textOn(colour) : "#000";
    context.fillText(text, this.left + x + 3, top + height / 2 + 4);
  }

  // What an operator is, in words.
  words(i, row) {
    const [name, activity, phase] = this.data.kinds[this.data.kind[i]];
    const start = this.rows.start[i];
    const length = this.data.length[i];
    return `${name}\n${activityLabel(activity)}${phase === "compute" ? "" : `, ${phase.replace("_", " ")}`}`
      + `, micro-batch ${this.data.micro_batch[i]}\n${this.data.labels[row]} (node ${this.data.tiles[row]})\n`
      + `${format(length, "time")}, from ${format(start, "time")} to ${format(start + length, "time")}`;
  }

  find(x, y) {
    let row = this.tops.findIndex((top) => top > y) - 1;
    if (row < 0) row = this.heights.length - 1;
    const lanes = this.rows.lanes[row];
    const lane = Math.floor((y - this.tops[row]) / (this.heights[row] / lanes.length));
    if (x < this.left || lane < 0 || lane >= lanes.length) return { row };
    const time = this.time(x);
    const place = this.rows.firstAfter(lanes[lane], time);
    const i = lanes[lane][place];
    return place < lanes[lane].length && this.rows.start[i] <= time ? { row, i } : { row };
  }

  listen(element) {
    let from = null;
    element.addEventListener("pointerdown", (event) => {
      const [x] = this.canvas.at(event);
      from = { x, move: event.shiftKey, view: [VIEW.from, VIEW.to] };
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => this.moved(event, from));
    element.addEventListener("pointerup", (event) => {
      const [x, y] = this.canvas.at(event);
      if (from && !from.move && Math.abs(x - from.x) > 4) {
        const [a, b] = [from.x, x].sort((one, other) => one - other);
        VIEW.set(this.time(Math.max(a, this.left)), this.time(b));
      } else if (from && !from.move) this.select(this.find(x, y));
      from = null;
      this.canvas.redraw();
    });
    element.addEventListener("pointerleave", TIP.hide);
    element.addEventListener("dblclick", () => VIEW.reset());
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      VIEW.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(this.canvas.at(event)[0]));
    }, { passive: false });
    element.addEventListener("keydown", (event) => this.key(event));
  }

  moved(event, from) {
    const [x, y] = this.canvas.at(event);
    if (from && from.move) {
      const shift = (from.x - x) / (this.canvas.width - this.left) * (from.view[1] - from.view[0]);
      VIEW.set(from.view[0] + shift, from.view[1] + shift);
    } else if (from && Math.abs(x - from.x) > 4) {
      this.canvas.redraw();
      const context = this.canvas.element.getContext("2d");
      context.fillStyle = `${THEME.colour("accent")}44`;
      context.fillRect(Math.min(x, from.x), 0, Math.abs(x - from.x), this.canvas.height);
    } else {
      const found = this.find(x, y);
      if (found.i === undefined) TIP.hide();
      else TIP.show(this.words(found.i, found.row), event);
    }
  }

  select(found) {
    this.selected = found;
    if (found.i !== undefined) announce(this.words(found.i, found.row).replaceAll("\n", ", "));
  }

  key(event) {
    const rows = this.heights.length;
    const at = this.selected || { row: 0 };
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.select({ row: (at.row + (event.key === "ArrowDown" ? 1 : rows - 1)) % rows });
      announce(this.data.labels[this.selected.row]);
      this.scroll.scrollTop = this.tops[this.selected.row] - this.scroll.clientHeight / 2;
    } else if (event.key === "n" || event.key === "p") this.step(at, event.key === "n" ? 1 : -1);
    else if (event.key === "Enter" && at.i !== undefined) {
      const start = this.rows.start[at.i];
      const length = this.data.length[at.i];
      VIEW.set(start - length, start + 2 * length);
    } else if (!timeKey(event.key)) return;
    event.preventDefault();
    this.canvas.redraw();
  }

  // The next operator of the row that matches.
  step(at, by) {
    const all = this.rows.lanes[at.row].flat().sort((a, b) => a - b);
    let place = at.i === undefined ? (by > 0 ? all.findIndex((i) => this.rows.start[i] >= VIEW.from)
      : all.length) - (by > 0 ? 1 : 0) : all.indexOf(at.i);
    do place += by; while (place >= 0 && place < all.length && !this.matches[this.data.kind[all[place]]]);
    if (place < 0 || place >= all.length) return;
    const i = all[place];
    this.select({ row: at.row, i });
    const start = this.rows.start[i];
    const length = this.data.length[i];
    if (start < VIEW.from || start + length > VIEW.to) {
      const half = Math.max(VIEW.to - VIEW.from, length) / 2;
      VIEW.set(start + length / 2 - half, start + length / 2 + half);
    }
  }
}

function timelineSection(run) {
  if (!run.timeline) return section("timeline", "Timeline", note(`No timeline: ${run.missing.timeline}.`));
  const timeline = new Timeline(run);
  return section("timeline", "Timeline", timeControls(), timeline.element);
}
