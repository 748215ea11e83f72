// Memory of one tile of each stage, beside what there is.
"use strict";

const MEMORY_COLOURS = ["#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#f0e442", "#999999",
  "#5d3a9b", "#44aa99", "#882255"];
const MOST_MEMORY_CHARTS = 4;

// What the first tile of a stage held over time, part upon part, below what there is.
function memoryChart(memory, one, capacities) {
  const sums = one.end_ps.map(() => 0);
  const series = memory.parts.map((part, i) => {
    one.parts[part].forEach((bytes, at) => { sums[at] += bytes; });
    return { name: part, colour: MEMORY_COLOURS[i], values: Float64Array.from(sums), fill: true };
  }).reverse();
  for (const [name, bytes] of capacities) {
    series.push({ name: `capacity of ${name}`, values: new Float64Array(sums.length).fill(bytes), dash: DASH,
      colour: THEME.colour("text") });
  }
  return new Chart({ title: `Memory of stage ${one.stage} over time, part upon part`,
    edges: [0, ...one.end_ps], series, kind: "bytes" }).element;
}

function memorySection(run, most = 0) {
  const { memory } = run;
  if (!memory) return section("memory", "Memory a tile", note(`No table: ${run.missing.memory}.`));
  const all = memory.parts.length + 2;
  const top = Math.max(most, ...memory.table.rows.map((row) => row[all]));
  const lines = Object.entries(memory.capacity).filter(([, bytes]) => bytes <= 4 * top);
  const full = Math.max(top, ...lines.map(([, bytes]) => bytes)) * 1.02;
  const bars = memory.table.rows.map((row) => el("div", { class: "bar-row" },
    el("span", { class: "bar-name" }, `stage ${row[0]}`),
    el("div", { class: "stack memory", role: "img", "aria-label": memory.parts.map((part, i) =>
      `${part} ${format(row[i + 2], "bytes")}`).join(", ") },
    ...memory.parts.map((part, i) => el("span", { title: `${part}: ${format(row[i + 2], "bytes")}`,
      style: `width:${100 * row[i + 2] / full}%;background:${MEMORY_COLOURS[i]}` })),
    ...lines.map(([name, bytes]) => el("i", { class: "capacity", title: `${name}: ${format(bytes, "bytes")}`,
      style: `left:${100 * bytes / full}%` }))),
    el("span", { class: "bar-value" }, format(row[all], "bytes"))));
  return section("memory", "Memory a tile",
    legend(memory.parts.map((part, i) => [part, MEMORY_COLOURS[i]])),
    note(Object.entries(memory.capacity).map(([name, bytes]) => `Capacity of ${name} a tile: ${
      format(bytes, "bytes")}${lines.some(([other]) => other === name) ? " (upright line)"
      : ", beyond the right end"}.`).join(" ")),
    ...memory.shared.map((said) => note(said)),
    el("div", { class: "bars scroll", tabindex: "0", role: "region", "aria-label": "Memory" }, ...bars),
    memory.over_time.length > MOST_MEMORY_CHARTS ? note(`Over time: the first ${MOST_MEMORY_CHARTS} of ${
      memory.over_time.length} stages.`) : null,
    ...memory.over_time.slice(0, MOST_MEMORY_CHARTS).map((one) => memoryChart(memory, one, lines)),
    el("details", {}, el("summary", {}, "Numbers"), tableOf(memory.table)));
}
