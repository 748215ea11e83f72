// The points of a sweep: all of them, the front of two columns, and a map of two keys.
"use strict";

function pointText(sweep, i) {
  return sweep.keys.map((key) => `${key.short}: ${key.values[key.places[i]]}`).join(", ");
}

// Points that no other beats in both.
function front(points) {
  const order = [...points].sort((a, b) => a.x - b.x || b.y - a.y);
  let best = -Infinity;
  return order.filter((point) => point.y > best && (best = point.y, true));
}

// Round numbers, evenly apart, around all values; from nothing on where none is below it.
function ticks(values) {
  const [low, high] = [Math.min(0, ...values), Math.max(...values)];
  const rough = ((high - low) || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= rough * (1 - 1e-9));
  const first = Math.floor(low / step);
  const count = Math.max(1, Math.ceil(high / step - 1e-9) - first);
  return Array.from({ length: count + 1 }, (_, i) => (first + i) * step);
}

class Front {
  constructor(sweep) {
    this.sweep = sweep;
    this.columns = [...sweep.front];
    const names = sweep.columns.map((column) => [column.name, column.name]);
    this.canvas = new Canvas(380, "Front of two columns", (context, width) => this.draw(context, width));
    this.canvas.element.addEventListener("pointermove", (event) => this.tell(event));
    this.canvas.element.addEventListener("pointerleave", TIP.hide);
    this.said = el("p", { class: "note" });
    this.element = el("div", {}, el("div", { class: "controls" },
      choice("Across", names, this.columns[0], (name) => this.set(0, name)),
      choice("Up", names, this.columns[1], (name) => this.set(1, name))), this.canvas.element, this.said);
  }

  set(place, name) {
    this.columns[place] = name;
    this.canvas.redraw();
  }

  column(place) {
    return this.sweep.columns.find((column) => column.name === this.columns[place]);
  }

  points() {
    const [across, up] = [this.column(0), this.column(1)];
    const sign = (column) => (column.grows ? 1 : -1);
    return this.sweep.numbers.map((_, i) => ({ i, vx: across.values[i], vy: up.values[i],
      x: -sign(across) * across.values[i], y: sign(up) * up.values[i] }))
      .filter((point) => Number.isFinite(point.vx) && Number.isFinite(point.vy));
  }

  draw(context, width) {
    const points = this.points();
    const [across, up] = [this.column(0), this.column(1)];
    if (!points.length) return;
    const [xs, ys] = [ticks(points.map((point) => point.vx)), ticks(points.map((point) => point.vy))];
    const [x0, x1, y0, y1] = [xs[0], xs[xs.length - 1], ys[0], ys[ys.length - 1]];
    const wide = (text) => context.measureText(text).width;
    const left = 12 + Math.max(...ys.map((value) => wide(format(value, up.kind))));
    const [top, bottom] = [26, this.canvas.height - 42];
    const x = (value) => left + (value - x0) / (x1 - x0) * (width - left - 24);
    const y = (value) => bottom - (value - y0) / (y1 - y0) * (bottom - top);
    for (const value of ys) {
      const text = format(value, up.kind);
      context.fillStyle = THEME.colour("text");
      context.fillText(text, left - 8 - wide(text), y(value) + 4);
      context.fillStyle = THEME.colour("line");
      context.fillRect(left, y(value), width - left, 1);
    }
    context.fillStyle = THEME.colour("text");
    let free = 0; // to the right of the text before
    for (const value of xs) {
      const text = format(value, across.kind);
      const at = Math.max(left, Math.min(x(value) - wide(text) / 2, width - wide(text)));
      if (at < free) continue;
      context.fillText(text, at, bottom + 16);
      free = at + wide(text) + 8;
    }
    context.fillText(`${across.name}, ${across.grows ? "more" : "less"} is better →`, left, bottom + 34);
    context.fillText(`${up.name}, ${up.grows ? "more" : "less"} is better`, left, 11);
    const best = front(points);
    context.strokeStyle = context.fillStyle = "#d55e00";
    context.lineWidth = 1.5;
    context.beginPath();
    best.forEach((point, i) => (i ? context.lineTo(x(point.vx), y(point.vy))
      : context.moveTo(x(point.vx), y(point.vy))));
    context.stroke();
    this.places = points.map((point) => ({ ...point, px: x(point.vx), py: y(point.vy) }));
    for (const point of this.places) {
      const on = best.some((one) => one.i === point.i);
      context.fillStyle = on ? "#d55e00" : THEME.colour("node");
      context.beginPath();
      context.arc(point.px, point.py, on ? 5 : 3, 0, 2 * Math.PI);
      context.fill();
    }
    this.said.textContent = `${best.length} of ${points.length} points are on the front (orange): `
      + best.slice(0, 6).map((point) => pointText(this.sweep, point.i)).join("; ")
      + (best.length > 6 ? "; …" : "");
  }

  tell(event) {
    const [px, py] = this.canvas.at(event);
    const near = (this.places || []).map((point) => [Math.hypot(point.px - px, point.py - py), point])
      .sort((a, b) => a[0] - b[0])[0];
    if (!near || near[0] > 12) TIP.hide();
    else {
      const [, point] = near;
      TIP.show(`${pointText(this.sweep, point.i)}\n${this.columns[0]}: ${format(point.vx, this.column(0).kind)}`
        + `\n${this.columns[1]}: ${format(point.vy, this.column(1).kind)}`, event);
    }
  }
}

class HeatMap {
  constructor(sweep) {
    this.sweep = sweep;
    const varying = sweep.keys.filter((key) => key.values.length > 1);
    this.keys = varying.slice(0, 2);
    this.column = sweep.columns.find((column) => column.name === sweep.objective) || sweep.columns[0];
    this.place = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Map of two keys" });
    const names = varying.map((key) => [key.name, key.name]);
    const pick = (place) => (name) => {
      this.keys[place] = varying.find((key) => key.name === name);
      this.fill();
    };
    THEME.listeners.push(() => this.fill());
    this.element = el("div", {}, el("div", { class: "controls" },
      choice("Across", names, this.keys[0].name, pick(0)), choice("Down", names, this.keys[1].name, pick(1)),
      choice("Value", sweep.columns.map((column) => [column.name, column.name]), this.column.name, (name) => {
        this.column = sweep.columns.find((column) => column.name === name);
        this.fill();
      })), note("Each cell is the best over the other keys; – where no point finished."), this.place);
    this.fill();
  }

  cells() {
    const cells = new Map();
    this.sweep.numbers.forEach((_, i) => {
      const value = this.column.values[i];
      if (!Number.isFinite(value)) return;
      const cell = this.keys.map((key) => key.places[i]).join(",");
      const better = !cells.has(cell) || (this.column.grows ? value > cells.get(cell) : value < cells.get(cell));
      if (better) cells.set(cell, value);
    });
    return cells;
  }

  fill() {
    const cells = this.cells();
    const values = [...cells.values()];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [across, down] = this.keys;
    const cell = (column, row) => {
      const value = cells.get(`${column},${row}`);
      if (value === undefined) return el("td", { class: "number" }, "–");
      const share = high > low ? (value - low) / (high - low) : 1;
      const rgb = between(VIRIDIS, this.column.grows ? share : 1 - share);
      const hex = `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
      return el("td", { class: "number heat", style: `background:${hex};color:${textOn(hex)}` },
        format(value, this.column.kind));
    };
    this.place.replaceChildren(el("table", {}, el("caption", {}, `${this.column.name}, ${
      this.column.grows ? "more" : "less"} is better`), el("thead", {}, el("tr", {},
      el("th", {}, `${down.short} ↓, ${across.short} →`), ...across.values.map((value) =>
        el("th", { scope: "col", class: "number" }, value)))), el("tbody", {}, ...down.values.map(
      (value, row) => el("tr", {}, el("th", { scope: "row" }, value), ...across.values.map(
        (_, column) => cell(column, row)))))));
  }
}

function sectionsOfSweep(report) {
  const { sweep } = report;
  const best = sweep.best;
  const objective = sweep.columns.find((column) => column.name === sweep.objective);
  return [
    section("summary", "Summary", el("dl", { class: "cards" },
      el("div", {}, el("dt", {}, "Points finished"), el("dd", {}, format(sweep.numbers.length, "count"),
        el("small", {}, `of ${sweep.points_run} that were run`))),
      el("div", {}, el("dt", {}, `Best ${sweep.objective}`), el("dd", {}, objective && best !== null
        ? format(objective.values[best], objective.kind) : "–", el("small", {}, best === null ? ""
        : `point ${sweep.numbers[best]}: ${pointText(sweep, best)}`)))),
    note(sweep.failed.length ? `Not finished: ${sweep.failed.map(([status, count]) =>
      `${count} ${status}`).join(", ")}.` : "All points finished."),
    sweep.notes.length ? el("div", {}, el("h3", {}, "What bends results"), el("ul", {}, ...sweep.notes.map(
      ([count, text]) => el("li", {}, `${text} (${count === 1 ? "one point" : `${count} points`})`)))) : null),
    section("front", "Front of two columns", new Front(sweep).element),
    sweep.keys.filter((key) => key.values.length > 1).length > 1
      ? section("heat", "Two keys against each other", new HeatMap(sweep).element) : null,
    section("points", "Points", tableOf(sweep.table, { filter: true })),
  ];
}
