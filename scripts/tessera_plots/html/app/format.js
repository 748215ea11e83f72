// Numbers with their units, as the program prints them.
"use strict";

const UNITS = {
  time: [[1, "ps"], [1e3, "ns"], [1e6, "µs"], [1e9, "ms"], [1e12, "s"]],
  bytes: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"], [1e15, "PB"]],
  rate: [[1, "B/s"], [1e3, "kB/s"], [1e6, "MB/s"], [1e9, "GB/s"], [1e12, "TB/s"], [1e15, "PB/s"]],
  flops: [[1, "FLOP/s"], [1e3, "kFLOP/s"], [1e6, "MFLOP/s"], [1e9, "GFLOP/s"], [1e12, "TFLOP/s"],
    [1e15, "PFLOP/s"], [1e18, "EFLOP/s"]],
  samples: [[1, "samples/s"], [1e3, "ksamples/s"], [1e6, "Msamples/s"]],
};

function unitOf(kind, value) {
  let chosen = UNITS[kind][0];
  for (const step of UNITS[kind]) {
    if (Math.abs(value) >= step[0]) chosen = step;
  }
  return chosen;
}

// Four digits, without zeros at the end.
function digits(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
}

// Two times with as many digits as tell them apart.
function spanText(from, to) {
  const [factor, unit] = unitOf("time", to);
  const places = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10((to - from) / factor || 1))));
  const text = (time) => String(Number((time / factor).toFixed(places)));
  return `${text(from)} to ${text(to)} ${unit}`;
}

function format(value, kind) {
  if (value === null || value === undefined) return "–";
  if (kind in UNITS) {
    const [factor, unit] = unitOf(kind, value);
    return `${digits(value / factor)} ${unit}`;
  }
  if (kind === "share") return `${digits(100 * value)} %`;
  if (kind === "factor") return digits(value);
  if (kind === "count") return Number.isInteger(value) ? value.toLocaleString("en") : digits(value);
  return String(value);
}
