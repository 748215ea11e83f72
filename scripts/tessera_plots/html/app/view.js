// The span of time that timelines and curves show, one for all of a page.
"use strict";

const VIEW = {
  end: 1,
  from: 0,
  to: 1,
  listeners: [],
  set(from, to) {
    const least = Math.max(VIEW.end * 1e-9, 10);
    const length = Math.min(Math.max(to - from, least), VIEW.end);
    VIEW.from = Math.min(Math.max(from, 0), VIEW.end - length);
    VIEW.to = VIEW.from + length;
    for (const listener of VIEW.listeners) listener();
  },
  reset() {
    VIEW.set(0, VIEW.end);
  },
  pan(share) {
    const step = share * (VIEW.to - VIEW.from);
    VIEW.set(VIEW.from + step, VIEW.to + step);
  },
  zoom(factor, at = (VIEW.from + VIEW.to) / 2) {
    VIEW.set(at - (at - VIEW.from) * factor, at + (VIEW.to - at) * factor);
  },
  text() {
    return `${spanText(VIEW.from, VIEW.to)} of ${format(VIEW.end, "time")}`;
  },
};

// What keys do that move through time; whether it was one of them.
function timeKey(key) {
  const actions = {
    "+": () => VIEW.zoom(0.5), "=": () => VIEW.zoom(0.5), "-": () => VIEW.zoom(2),
    ArrowLeft: () => VIEW.pan(-0.2), ArrowRight: () => VIEW.pan(0.2),
    0: () => VIEW.reset(), Home: () => VIEW.reset(),
  };
  if (!(key in actions)) return false;
  actions[key]();
  announce(`Shown: ${VIEW.text()}`);
  return true;
}

function timeControls() {
  const shown = el("span", { class: "shown" });
  const update = () => { shown.textContent = VIEW.text(); };
  VIEW.listeners.push(update);
  update();
  return el("div", { class: "controls" },
    button("+", "Zoom in", () => VIEW.zoom(0.5)), button("−", "Zoom out", () => VIEW.zoom(2)),
    button("←", "Earlier", () => VIEW.pan(-0.2)), button("→", "Later", () => VIEW.pan(0.2)),
    button("All", "Show all of the time", () => VIEW.reset()), shown);
}
