// Light and dark, and the colours that things have. The palette is that of Okabe and Ito, which
// readers of every kind of colour vision tell apart, and shades of it; scales are viridis, and blue to
// orange for differences.
"use strict";

const PRINTING = { ratio: 0 };

const THEME = {
  listeners: [],
  name() {
    if (PRINTING.ratio) return "light";
    const asked = document.documentElement.dataset.theme;
    if (asked !== "auto") return asked;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  },
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  },
  changed() {
    for (const listener of THEME.listeners) listener();
  },
  toggle() {
    document.documentElement.dataset.theme = THEME.name() === "dark" ? "light" : "dark";
    THEME.changed();
  },
};

const ACTIVITY = {
  compute: "#0072b2", forward: "#56b4e9", backward: "#0072b2", input_gradient: "#1b2a6b",
  weight_gradient: "#c7b9ff", update: "#009e73", tensor: "#e69f00", data: "#cc79a7",
  context: "#8c564b", expert: "#7b3294", pipeline: "#d55e00", memory: "#e6d800",
  collective: "#882255", message: "#8a8a00", host: "#7f7f7f",
};
const ACTIVITY_LABELS = {
  tensor: "tensor communication", data: "data communication", context: "context communication",
  expert: "expert communication", pipeline: "pipeline communication", memory: "memory (DRAM)",
  bubble: "idle (bubble)", input_gradient: "input gradient", weight_gradient: "weight gradient",
};
const SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b",
  "#7b3294", "#7f7f7f", "#9a8f00", "#1b9e77", "#a6611a"];

// Colours without a meaning: those of series that are no activity's, then hues a golden section apart.
function freeColour(number) {
  const few = SERIES.slice(6);
  if (number < few.length) return few[number];
  const part = (at) => {
    const shade = (at + (number * 0.6180339887 % 1) * 12) % 12;
    const level = 0.45 - 0.35 * Math.max(-1, Math.min(shade - 3, 9 - shade, 1));
    return Math.round(255 * level).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

// In the order of `names`: of each its own, or one that no other of them has.
function activityColours(names) {
  const found = new Map();
  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  // Whether one that has a name is as near as that, in steps of red, green and blue together.
  const taken = (colour, near = 1) => [...found.values()].some((other) =>
    channels(other).reduce((sum, value, i) => sum + Math.abs(value - channels(colour)[i]), 0) < near);
  for (const name of names) {
    const own = name === "bubble" ? THEME.colour("idle") : ACTIVITY[name];
    if (own && !taken(own)) found.set(name, own);
  }
  let number = 0;
  for (const name of names) {
    while (!found.has(name)) {
      const colour = freeColour(number);
      number += 1;
      if (!taken(colour, number < 200 ? 90 : 1)) found.set(name, colour);
    }
  }
  return new Map(names.map((name) => [name, found.get(name)]));
}

function activityLabel(name) {
  return ACTIVITY_LABELS[name] || name;
}

// Black or white, whichever stands out against a colour (WCAG 2, relative luminance).
function textOn(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] > 0.18 ? "#000" : "#fff";
}

const VIRIDIS = ["440154", "482475", "414487", "355f8d", "2a788e", "21918c", "22a884", "44bf70",
  "7ad151", "bddf26", "fde725"];
const DIFFERENCE = ["2166ac", "4393c3", "92c5de", "f2f2f2", "fdb863", "e08214", "b35806"];
const DIFFERENCE_DARK = ["92c5de", "4393c3", "2166ac", "333a42", "8a4a00", "e08214", "fdb863"];

function between(anchors, share) {
  const at = Math.min(Math.max(share, 0), 1) * (anchors.length - 1);
  const low = Math.min(Math.floor(at), anchors.length - 2);
  const mix = (place) => {
    const [a, b] = [low, low + 1].map((i) => parseInt(anchors[i].slice(place, place + 2), 16));
    return Math.round(a + (b - a) * (at - low));
  };
  return [mix(0), mix(2), mix(4)];
}

// Little is near the background.
function scaleColour(share) {
  return between(VIRIDIS, THEME.name() === "dark" ? share : 1 - share);
}

// -1: less, 1: more.
function differenceColour(value) {
  return between(THEME.name() === "dark" ? DIFFERENCE_DARK : DIFFERENCE, (value + 1) / 2);
}
