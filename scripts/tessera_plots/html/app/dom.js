// Elements, sections and controls.
"use strict";

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Text in which `words` like these are code.
function rich(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

function section(id, title, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), ...children);
}

function note(text) {
  return el("p", { class: "note" }, ...rich(text));
}

function choice(label, options, chosen, change) {
  const select = el("select", { onchange: (event) => change(event.target.value) },
    ...options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  return el("label", { class: "control" }, `${label} `, select);
}

function button(text, title, action) {
  return el("button", { type: "button", title, "aria-label": title, onclick: action }, text);
}

// One place in which screen readers hear what changed.
function announce(text) {
  document.getElementById("live").textContent = text;
}

// Pieces of a legend, with the colour as a box.
function legend(entries) {
  return el("ul", { class: "legend" }, ...entries.map(([text, colour]) =>
    el("li", {}, el("span", { class: "swatch", style: `background:${colour}` }), text)));
}

// A canvas as wide as its place, sharp on every screen; `draw(context, width, height)`.
class Canvas {
  constructor(height, label, draw) {
    this.height = height;
    this.draw = draw;
    this.element = el("canvas", { role: "img", "aria-label": label });
    this.element.style.height = `${height}px`;
    new ResizeObserver(() => this.redraw()).observe(this.element);
    THEME.listeners.push(() => this.redraw());
  }

  get width() {
    return this.element.clientWidth;
  }

  redraw() {
    const width = this.width;
    if (!width) return;
    const ratio = PRINTING.ratio || window.devicePixelRatio || 1;
    this.element.style.height = `${this.height}px`;
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(this.height * ratio);
    const context = this.element.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    this.draw(context, width, this.height);
  }

  // Where in the canvas an event of the pointer is.
  at(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

const TIP = {
  show(text, event) {
    const tip = document.getElementById("tip");
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
    const y = event.clientY + 16 + box.height > window.innerHeight ? event.clientY - box.height - 10
      : event.clientY + 16;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${y}px`;
  },
  hide() {
    document.getElementById("tip").hidden = true;
  },
};
