// Two or more runs beside each other, on one scale.
"use strict";

function comparedBreakdown(runs) {
  const some = runs.filter((run) => run.breakdown);
  if (!some.length) return null;
  const names = [...new Set(some.flatMap((run) => run.breakdown.groups.map((group) => group.name)))];
  const activities = [...new Set(some.flatMap((run) => run.breakdown.activities))];
  const groups = names.flatMap((name) => some.flatMap((run) => {
    const group = run.breakdown.groups.find((one) => one.name === name);
    return group ? [{ name: `${name} · ${run.label}`, activities, shares: activities.map((activity) => {
      const place = run.breakdown.activities.indexOf(activity);
      return place < 0 ? 0 : group.shares[place];
    }) }] : [];
  }));
  return section("breakdown", "Breakdown by stage",
    note("Share of the time of tiles in percent, each of its own run."), breakdownBars(groups));
}

function comparedTimelines(runs) {
  const some = runs.filter((run) => run.timeline);
  if (!some.length) return null;
  return section("timeline", "Timelines on one axis of time", timeControls(),
    ...some.flatMap((run) => [el("h3", {}, run.label), new Timeline(run).element]));
}

function comparedCurves(runs) {
  const charts = [];
  const add = (title, part, pick, kind) => {
    const some = runs.filter((run) => run[part]);
    if (!some.length) return;
    // Each on its own times: of all of them, as steps.
    const edges = [...new Set(some.flatMap((run) => Array.from(pick(run).edges)))].sort((a, b) => a - b);
    const series = some.map((run) => {
      const { edges: own, values } = pick(run);
      let place = 0;
      return { name: run.label, values: edges.map((time) => {
        while (place + 2 < own.length && own[place + 1] <= time) place++;
        return time <= own[own.length - 1] ? values[place] : 0;
      }) };
    });
    charts.push(new Chart({ title, edges, series, kind }).element);
  };
  add("All links together", "links", (run) => ({ edges: run.links.curves.edges,
    values: run.links.curves.total }), "rate");
  add("Busiest link", "links", (run) => ({ edges: run.links.curves.edges,
    values: run.links.curves.busy.busiest }), "share");
  add("DRAM, read and written", "channels", (run) => ({ edges: run.channels.edges,
    values: run.channels.read.map((value, i) => value + run.channels.written[i]) }), "rate");
  return charts.length ? section("curves", "Over time", ...charts) : null;
}

function comparedMemory(runs) {
  const some = runs.filter((run) => run.memory);
  const most = Math.max(0, ...some.flatMap((run) => run.memory.table.rows.map((row) =>
    row[run.memory.parts.length + 2])));
  if (!some.length) return null;
  return section("memory", "Memory a tile", ...some.map((run) => {
    const part = memorySection(run, most);
    part.querySelector("h2").remove();
    part.removeAttribute("id");
    part.removeAttribute("aria-labelledby");
    return el("div", {}, el("h3", {}, run.label), part);
  }));
}

function sectionsOfComparison(report) {
  const { runs, tables } = report;
  VIEW.end = VIEW.to = Math.max(1, ...runs.map((run) => (run.timeline ? run.timeline.end : run.end)));
  const titles = { differences: "What differs in the configurations", numbers: "Results",
    breakdown: "Breakdown in numbers", operators: "Operators", collectives: "Collectives",
    links: "Links by kind", hottest: "Hottest links", hottest_channels: "Hottest DRAM channels", memory: "Memory in numbers" };
  const part = (name) => tables[name] && section(`${name}-table`, titles[name], tableOf(tables[name]));
  return [part("numbers"), part("differences"), comparedBreakdown(runs), part("breakdown"),
    comparedTimelines(runs), mapSection(runs), comparedCurves(runs), part("links"), part("hottest"),
    part("hottest_channels"), part("operators"), part("collectives"), comparedMemory(runs), part("memory")];
}
