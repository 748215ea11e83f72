// Maps of the machine: how busy its links are, over the run or at a time.
"use strict";

// One panel; `colourOf(place in the frame)` gives a CSS colour or null.
class MapPanel {
  constructor(map, title, look) {
    this.map = map;
    this.look = look;
    this.zoom = { x: 0, y: 0, scale: 1 };
    this.extent = this.extentOf();
    this.canvas = new Canvas(300, `${title}: map of links`, (context, width) => this.draw(context, width));
    const { element } = this.canvas;
    element.tabIndex = 0;
    element.setAttribute("aria-label", `${title}: map of links. Keys: plus and minus zoom, arrows move, 0 shows all.`);
    this.element = el("figure", { class: "map" }, el("figcaption", {}, title), element);
    this.listen(element);
  }

  // [x, y, width, height] of what is drawn, in columns and rows.
  extentOf() {
    const { map } = this;
    if (map.form === "image") return [0, 0, map.columns, map.rows];
    if (map.form === "boxes") return [0, 0, ...map.size];
    const [low, high] = [Math.min, Math.max].map((pick) => [map.nodes.x, map.nodes.y].map((values) =>
      values.reduce((a, b) => pick(a, b))));
    const [wide, tall] = map.spacing;
    return [low[0] - wide, low[1] - tall, high[0] - low[0] + 2 * wide, high[1] - low[1] + 2 * tall];
  }

  get left() {
    return this.map.form === "boxes" ? 92 : 0;
  }

  // To scale, unless that makes a thread of it.
  fit(width) {
    const [, , columns, rows] = this.extent;
    const wide = width - this.left;
    const natural = wide * rows / columns;
    // Rows of boxes need not be as high as they are wide, but so high that they can be told apart.
    this.canvas.height = this.map.form === "boxes" ? Math.round(Math.min(Math.max(8 * rows, 160), 1100))
      : Math.round(Math.min(Math.max(natural, 90), 620));
    const equal = this.map.form !== "boxes" && Math.max(columns, rows) <= 6 * Math.min(columns, rows);
    const unit = Math.min(wide / columns, this.canvas.height / rows);
    this.unit = equal ? [unit, unit] : [wide / columns, this.canvas.height / rows];
  }

  toX(x) {
    return this.left + ((x - this.extent[0]) * this.unit[0] - this.zoom.x) * this.zoom.scale;
  }

  toY(y) {
    return ((y - this.extent[1]) * this.unit[1] - this.zoom.y) * this.zoom.scale;
  }

  draw(context, width) {
    const before = this.canvas.height;
    this.fit(width);
    if (before !== this.canvas.height) {
      this.canvas.redraw();
      return;
    }
    context.fillStyle = THEME.colour("empty");
    context.save();
    context.beginPath();
    context.rect(this.left, 0, width - this.left, this.canvas.height);
    context.clip();
    this[this.map.form](context);
    context.restore();
    if (this.map.form === "boxes") this.drawLabels(context);
  }

  image(context) {
    const { map } = this;
    const image = new ImageData(map.columns, map.rows);
    const empty = parseColour(THEME.colour("empty"));
    for (let i = 0; i < map.columns * map.rows; i++) {
      if (!map.exists[i]) continue;
      image.data.set([...(this.look.rgb(i) || empty), 255], 4 * i);
    }
    const aside = new OffscreenCanvas(map.columns, map.rows);
    aside.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = this.unit[0] * this.zoom.scale < 1;
    context.drawImage(aside, this.toX(0), this.toY(0), map.columns * this.unit[0] * this.zoom.scale,
      map.rows * this.unit[1] * this.zoom.scale);
  }

  boxes(context) {
    const { boxes } = this.map;
    const empty = THEME.colour("empty");
    for (let i = 0; i < boxes.length / 4; i++) {
      const rgb = this.look.rgb(i);
      context.fillStyle = rgb ? `rgb(${rgb.join(",")})` : empty;
      const [x, y, wide, tall] = [this.toX(boxes[4 * i]), this.toY(boxes[4 * i + 1]),
        boxes[4 * i + 2] * this.unit[0] * this.zoom.scale, boxes[4 * i + 3] * this.unit[1] * this.zoom.scale];
      const gap = wide > 4 && tall > 4 ? 0.6 : 0;
      context.fillRect(x, y, Math.max(wide - gap, 0.5), Math.max(tall - gap, 0.5));
    }
  }

  drawLabels(context) {
    context.fillStyle = THEME.colour("text");
    let last = -Infinity;
    for (const [y, text] of this.map.labels) {
      const at = this.toY(y) + 4;
      if (at < last + 11 || at < 4 || at > this.canvas.height) continue;
      context.fillText(text, 0, Math.max(at, 12));
      last = at;
    }
  }

  arrows(context) {
    const { nodes, x, y, dx, dy, width, spacing } = this.map;
    const side = 0.16 * Math.min(...spacing) * Math.min(...this.unit) * this.zoom.scale;
    for (let i = 0; i < nodes.x.length; i++) {
      context.fillStyle = THEME.colour(nodes.used[i] ? "node" : "empty");
      context.fillRect(this.toX(nodes.x[i]) - side / 2, this.toY(nodes.y[i]) - side / 2, side, side);
    }
    const thick = Math.max(1, width * Math.min(...this.unit) * this.zoom.scale);
    const order = [...x.keys()].sort((a, b) => this.look.weight(a) - this.look.weight(b));
    for (const i of order) {
      const rgb = this.look.rgb(i);
      if (rgb) this.arrow(context, i, `rgb(${rgb.join(",")})`, thick, dx[i], dy[i]);
    }
  }

  arrow(context, i, colour, thick, dx, dy) {
    const [x, y] = [this.toX(this.map.x[i]), this.toY(this.map.y[i])];
    const [wide, tall] = [dx * this.unit[0] * this.zoom.scale, dy * this.unit[1] * this.zoom.scale];
    const length = Math.max(Math.hypot(wide, tall), 1e-6);
    const [ux, uy] = [wide / length, tall / length];
    const head = Math.min(2.6 * thick, length);
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = thick;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + wide - ux * head, y + tall - uy * head);
    context.stroke();
    context.beginPath();
    context.moveTo(x + wide, y + tall);
    context.lineTo(x + wide - ux * head - uy * head / 2, y + tall - uy * head + ux * head / 2);
    context.lineTo(x + wide - ux * head + uy * head / 2, y + tall - uy * head - ux * head / 2);
    context.fill();
  }

  // What is at a place of the canvas: its number in a frame, and its name.
  find(px, py) {
    const { map } = this;
    const x = (px - this.left) / this.zoom.scale + this.zoom.x;
    const y = py / this.zoom.scale + this.zoom.y;
    const [at, down] = [x / this.unit[0] + this.extent[0], y / this.unit[1] + this.extent[1]];
    if (map.form === "image") {
      const [column, row] = [Math.floor(at), Math.floor(down)];
      if (column < 0 || row < 0 || column >= map.columns || row >= map.rows) return null;
      const block = map.block > 1 ? `${map.block}×${map.block} nodes from ` : "";
      return [row * map.columns + column, `${block}column ${column * map.block}, row ${row * map.block}`];
    }
    return map.form === "boxes" ? this.findBox(at, down) : this.findArrow(at, down);
  }

  findBox(x, y) {
    const { boxes } = this.map;
    for (let i = 0; i < boxes.length / 4; i++) {
      const [left, top, wide, tall] = boxes.subarray(4 * i, 4 * i + 4);
      if (x >= left && x < left + wide && y >= top && y < top + tall) return [i, this.nodeName(i)];
    }
    return null;
  }

  nodeName(i) {
    const { first, accelerators, nics, rails } = this.map.cluster;
    const kind = first.findIndex((begin, k) => i >= begin && i < first[k + 1]);
    const index = i - first[kind];
    if (kind === 3) return `leaf ${index}${rails ? `, rail ${index % nics}` : ""}`;
    if (kind === 4) return `spine ${index}`;
    const each = [accelerators, 1, nics][kind];
    return `server ${Math.floor(index / each)}, ${["accelerator", "switch", "NIC"][kind]}`
      + (each > 1 ? ` ${index % each}` : "");
  }

  findArrow(x, y) {
    const { map } = this;
    let best = 0.25 * Math.min(...map.spacing);
    let found = null;
    for (let i = 0; i < map.x.length; i++) {
      const long = map.dx[i] ** 2 + map.dy[i] ** 2;
      const along = Math.min(1, Math.max(0, ((x - map.x[i]) * map.dx[i] + (y - map.y[i]) * map.dy[i]) / long));
      const off = Math.hypot(x - map.x[i] - along * map.dx[i], y - map.y[i] - along * map.dy[i]);
      if (off < best) {
        best = off;
        found = [i, `link ${map.names[i]}`];
      }
    }
    return found;
  }

  listen(element) {
    let from = null;
    element.addEventListener("pointerdown", (event) => { from = this.canvas.at(event); });
    element.addEventListener("pointermove", (event) => {
      const found = this.find(...this.canvas.at(event));
      if (!found) TIP.hide();
      else TIP.show(`${found[1]}\n${this.look.words(found[0])}`, event);
    });
    element.addEventListener("pointerup", (event) => {
      const to = this.canvas.at(event);
      if (from && Math.hypot(to[0] - from[0], to[1] - from[1]) > 6) this.zoomTo(from, to);
      from = null;
    });
    element.addEventListener("pointerleave", TIP.hide);
    element.addEventListener("dblclick", () => this.setZoom({ x: 0, y: 0, scale: 1 }));
    element.addEventListener("keydown", (event) => this.key(event));
  }

  zoomTo(from, to) {
    const wide = Math.max(Math.abs(to[0] - from[0]), 4);
    const tall = Math.max(Math.abs(to[1] - from[1]), 4);
    const factor = Math.min((this.canvas.width - this.left) / wide, this.canvas.height / tall);
    this.setZoom({ x: (Math.min(from[0], to[0]) - this.left) / this.zoom.scale + this.zoom.x,
      y: Math.min(from[1], to[1]) / this.zoom.scale + this.zoom.y, scale: this.zoom.scale * factor });
  }

  setZoom(zoom) {
    this.zoom = zoom.scale <= 1 ? { x: 0, y: 0, scale: 1 } : zoom;
    this.canvas.redraw();
    if (this.zoomed) this.zoomed(this.zoom);
  }

  key(event) {
    const { zoom } = this;
    const step = 0.2 * this.canvas.height / zoom.scale;
    const move = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const middle = 0.5 * this.canvas.height / zoom.scale;
    if (event.key in move) {
      this.setZoom({ ...zoom, x: zoom.x + move[event.key][0], y: zoom.y + move[event.key][1] });
    } else if (event.key === "+" || event.key === "=") {
      this.setZoom({ x: zoom.x + middle / 2, y: zoom.y + middle / 2, scale: zoom.scale * 2 });
    } else if (event.key === "-") {
      this.setZoom({ x: zoom.x - middle, y: zoom.y - middle, scale: zoom.scale / 2 });
    } else if (event.key === "0") this.setZoom({ x: 0, y: 0, scale: 1 });
    else return;
    event.preventDefault();
  }
}

function parseColour(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

// How a panel shows the codes of one frame.
function codesLook(map, scale, frameOf) {
  return {
    rgb: (i) => scale.colours[map.frames[frameOf()][i]],
    weight: (i) => map.frames[frameOf()][i],
    words: (i) => {
      const code = map.frames[frameOf()][i];
      return code ? `busy ${format(shareOfCode(code), "share")} of the time` : "not used";
    },
  };
}

// Maps of several runs on one scale and at one time, and what the others have over the first.
class Maps {
  constructor(runs) {
    this.runs = runs.filter((run) => run.links);
    this.maps = this.runs.map((run) => run.links.map);
    this.scale = new Scale(this.maps);
    this.time = null;
    this.panels = this.maps.map((map, i) => new MapPanel(map, this.runs.length > 1
      ? this.runs[i].label : `Busy links${map.part || ""}`, codesLook(map, this.scale, () => this.frame(i))));
    this.differences = this.maps.slice(1).map((map, i) => this.difference(map, i + 1)).filter(Boolean);
    this.all = [...this.panels, ...this.differences];
    for (const panel of this.all) {
      panel.zoomed = (zoom) => this.all.forEach((other) => {
        if (other !== panel && (other.zoom.x !== zoom.x || other.zoom.y !== zoom.y
          || other.zoom.scale !== zoom.scale)) {
          other.zoom = zoom;
          other.canvas.redraw();
        }
      });
    }
    this.build();
  }

  frame(i) {
    if (this.time === null) return 0;
    const { edges } = this.maps[i];
    if (this.time >= edges[edges.length - 1]) return 0;
    let frame = 0;
    while (frame + 2 < edges.length && edges[frame + 1] <= this.time) frame++;
    return frame + 1;
  }

  // Of machines of one shape alone.
  difference(map, i) {
    const first = this.maps[0];
    if (this.runs[i].shape !== this.runs[0].shape) return null;
    if (map.form !== first.form || map.form === "image" && (map.rows !== first.rows
      || map.columns !== first.columns) || map.form === "boxes"
      && map.boxes.length !== first.boxes.length) return null;
    const places = map.form === "arrows" ? new Map(first.names.map((name, place) => [name, place])) : null;
    const shares = (place) => {
      const other = places ? places.get(map.names[place]) : place;
      return [other === undefined ? 0 : shareOfCode(first.frames[this.frame(0)][other]),
        shareOfCode(map.frames[this.frame(i)][place])];
    };
    const size = map.frames[0].length;
    this.mostOf = this.mostOf || new Map();
    const most = () => {
      // Of what is shown now: a difference of one bin would hide those of the whole run.
      const key = `${i} ${this.frame(0)} ${this.frame(i)}`;
      if (!this.mostOf.has(key)) {
        let largest = 1e-12;
        for (let place = 0; place < size; place++) {
          const [a, b] = shares(place);
          largest = Math.max(largest, Math.abs(b - a));
        }
        this.mostOf.set(key, largest);
      }
      return this.mostOf.get(key);
    };
    const look = {
      most,
      rgb: (place) => {
        const [a, b] = shares(place);
        if (!a && !b) return null;
        const change = (b - a) / most();
        return differenceColour(Math.sign(change) * Math.sqrt(Math.abs(change)));
      },
      weight: (place) => Math.abs(shares(place)[1] - shares(place)[0]),
      words: (place) => shares(place).map((share) => format(share, "share")).join(" → "),
    };
    return new MapPanel(map, `Difference: ${this.runs[i].label} less ${this.runs[0].label}`, look);
  }

  build() {
    const edges = this.maps.map((map) => map.edges).reduce((a, b) => (
      a[a.length - 1] >= b[b.length - 1] ? a : b));
    const said = el("output", {}, "over the whole run");
    const slider = el("input", { type: "range", min: "0", max: String(edges.length - 1), value: "0",
      "aria-label": "Time of the maps", oninput: () => {
        const frame = Number(slider.value);
        this.time = frame ? edges[frame - 1] : null;
        said.textContent = frame ? `${format(edges[frame - 1], "time")} to ${format(edges[frame], "time")}`
          : "over the whole run";
        slider.setAttribute("aria-valuetext", said.textContent);
        this.redraw();
      } });
    this.bar = new Canvas(38, "Scale of colours", (context, width) => this.scale.draw(context, width));
    this.ofScale = note(this.scale.said());
    const kinds = ["logarithmic", "percentile", "linear"].map((kind) => [kind, kind]);
    this.element = el("div", {},
      el("div", { class: "controls" }, ...(edges.length > 2 ? [el("label", { class: "control wide" },
        "Time ", slider)] : []), said,
        choice("Scale", kinds, "logarithmic", (kind) => {
          this.scale.choose(kind);
          this.ofScale.textContent = this.scale.said();
          this.redraw();
        }), button("All of the map", "Show all of the map", () => this.all[0].setZoom({ x: 0, y: 0, scale: 1 }))),
      this.bar.element,
      note(`Share of time that a link is busy; ${this.maps[0].what}. The scale is the same for all times`
        + `${this.maps.length > 1 ? " and runs" : ""}. Grey: not used. Drag to zoom.`), this.ofScale,
      el("div", { class: "maps" }, ...this.all.map((panel) => panel.element)),
      this.differences.length ? this.said = el("p", { class: "note" }) : null);
    this.sayDifference();
  }

  sayDifference() {
    if (!this.said) return;
    this.said.textContent = "Difference: orange is busier than in the first run, blue less; full colour is "
      + `${this.differences.map((panel) => format(panel.look.most(), "share")).join(", ")} of the time, by square root.`;
  }

  redraw() {
    this.bar.redraw();
    this.sayDifference();
    for (const panel of this.all) panel.canvas.redraw();
  }
}

function mapSection(runs) {
  if (!runs.some((run) => run.links)) return null;
  const without = runs.filter((run) => !run.links).map((run) => run.label);
  return section("map", "Links over time", without.length
    ? note(`No map of ${without.join(", ")}: no account of links was kept.`) : null, new Maps(runs).element);
}
