// The numbers of summary.json: the most important as tiles, all of them as a table.
"use strict";

// Services; of one with replicas, all of these together.
function wholeServices({ services, service_totals: totals = [] }) {
  const names = new Set(totals.map((one) => one.tenant));
  return [...totals, ...services.filter((one) => !names.has(one.tenant.replace(/\.[^.]*$/, "")))];
}

// Of several, times are those of the slowest.
function serviceCards(summary, add) {
  const services = wholeServices(summary);
  const sum = (key) => services.reduce((all, one) => all + (one[key] || 0), 0);
  add("Requests served", format(sum("served"), "count"), sum("tokens")
    ? `${format(sum("tokens"), "count")} tokens` : "");
  add("Met all targets", sum("served") && format(sum("met") / sum("served"), "share"),
    `${format(sum("met_per_s"), "count")} a second`);
  for (const [name, key] of [["First token", "first_token_ps"], ["Between tokens", "between_tokens_ps"],
    ["A token of a request, in the mean", "a_token_ps"], ["Whole request", "latency_ps"]]) {
    const some = services.filter((one) => one[key] && one[key].count)
      .sort((a, b) => b[key].p50 - a[key].p50);
    if (some.length) {
      add(`${name}, median`, format(some[0][key].p50, "time"), `99 %: ${format(some[0][key].p99, "time")}${
        services.length > 1 ? `, of ${some[0].tenant}` : ""}`);
    }
  }
}

function cards(summary) {
  const list = [];
  const add = (name, value, detail) => value && list.push([name, value, detail || ""]);
  if (summary.services && summary.services.length) serviceCards(summary, add);
  const time = summary.iteration_time_ps;
  add(summary.services && summary.services.length ? "Time simulated" : "Iteration time",
    time && format(time, "time"), summary.iterations > 1 ? `${summary.iterations} iterations` : "");
  add("Throughput", summary.throughput_samples_per_s
    && format(summary.throughput_samples_per_s, "samples"));
  add("Achieved", summary.achieved_flops_per_s && format(summary.achieved_flops_per_s, "flops"),
    summary.peak_flops_per_s ? `${format(summary.achieved_flops_per_s / summary.peak_flops_per_s,
      "share")} of the peak of ${format(summary.peak_flops_per_s, "flops")}` : "");
  add("Ideal time", summary.ideal_time_ps && format(summary.ideal_time_ps, "time"),
    time ? `${format(summary.ideal_time_ps / time, "share")} of the iteration time` : "");
  add("Tiles at work", summary.tiles && format(summary.tiles, "count"),
    summary.links ? `${format(summary.links, "count")} links` : "");
  add("Messages", summary.messages && format(summary.messages, "count"),
    summary.packet_hops ? `${format(summary.packet_hops, "count")} packet hops` : "");
  return list;
}

function cardsOf(summary) {
  return el("dl", { class: "cards" }, ...cards(summary).map(([name, value, detail]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value, detail
      ? el("small", {}, detail) : null))));
}

// Every number by its path, as in the columns of a sweep.
function flat(value, path = "") {
  if (value === null || typeof value !== "object") return [[path, value]];
  return Object.entries(value).flatMap(([key, part]) => flat(part, path ? `${path}.${key}` : key));
}

function kindOfKey(key) {
  if (key.endsWith("_ps")) return "time";
  if (key.endsWith(".share")) return "share";
  if (key.endsWith("_flops_per_s")) return "flops";
  if (key.endsWith("_bytes")) return "bytes";
  return "count";
}

function summaryTable(summary) {
  const rows = flat(summary).filter(([, value]) => value !== "" && value !== null)
    .map(([key, value]) => [key, typeof value === "number"
      ? format(value, kindOfKey(key)) : String(value), String(value)]);
  return { title: "summary.json", note: "",
    columns: [{ name: "key", kind: "text" }, { name: "value", kind: "text" },
      { name: "as in the file", kind: "text" }], rows };
}

function summarySection(run) {
  const { summary } = run;
  const text = [["Experiment", summary.experiment], ["Machine", summary.machine],
    ["Workload", summary.workload], ["Status", summary.status],
    ["Result digest", summary.result_digest]].filter(([, value]) => value);
  return section("summary", "Summary",
    run.complete ? null : note("The run did not end: only what had been committed is shown."),
    summary.message ? note(summary.message) : null,
    cardsOf(summary),
    el("dl", { class: "facts" }, ...text.map(([name, value]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    summary.notes && summary.notes.length ? el("div", {}, el("h3", {}, "What bends the result"),
      el("ul", {}, ...summary.notes.map((line) => el("li", {}, line)))) : null,
    el("details", {}, el("summary", {}, "All numbers of summary.json"),
      tableOf(summaryTable(summary))));
}
