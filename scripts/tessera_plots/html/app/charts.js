// Curves over time, drawn by uPlot.
"use strict";

// `series`: [{name, values, kind, dash, fill}]; values belong to the spans between `edges`, or to each
// time where there are as many.
class Chart {
  constructor({ title, edges, series, kind, height = 220, x = null, log = false }) {
    Object.assign(this, { title, edges, series, kind, height, x, log });
    this.place = el("div", { class: "chart", tabindex: "0", role: "group", "aria-label":
      `${title}: ${series.map((one) => one.name).join(", ")}. Keys: plus and minus zoom, arrows move.` });
    this.element = el("figure", {}, el("figcaption", {}, title), this.place);
    this.place.addEventListener("keydown", (event) => {
      if (!x && timeKey(event.key)) event.preventDefault();
    });
    new ResizeObserver(() => this.resize()).observe(this.place);
    THEME.listeners.push(() => this.build());
    if (!x) {
      VIEW.listeners.push(() => this.plot && this.plot.setScale("x", { min: VIEW.from, max: VIEW.to }));
    }
  }

  axis(format_, label) {
    return { stroke: THEME.colour("text"), grid: { stroke: THEME.colour("line"), width: 1 },
      ticks: { stroke: THEME.colour("line") }, values: format_, label, labelSize: label ? 18 : 0,
      font: "12px system-ui, 'DejaVu Sans', sans-serif" };
  }

  values(kind) {
    return (_, ticks) => {
      const [factor, unit] = kind in UNITS ? unitOf(kind, Math.max(...ticks.map(Math.abs)))
        : kind === "share" ? [0.01, "%"] : [1, ""];
      return ticks.map((tick) => (tick === null ? "" : `${digits(tick / factor)} ${unit}`));
    };
  }

  data() {
    if (this.x) return [this.x, ...this.series.map((one) => one.values)];
    const times = Array.from(this.edges);
    const stretched = (values) => (values.length === times.length ? Array.from(values)
      : [...values, values[values.length - 1]]);
    return [times, ...this.series.map((one) => stretched(one.values))];
  }

  options() {
    const stepped = uPlot.paths.stepped({ align: 1 });
    return {
      width: this.place.clientWidth || 600, height: this.height,
      scales: { x: { time: false, distr: this.log ? 3 : 1 },
        y: { range: (_, low, high) => [0, (high || 1) * 1.05] } },
      axes: [{ ...this.axis(this.values("time")), space: 80 },
        { ...this.axis(this.values(this.kind)), size: 92 }],
      cursor: { drag: { x: true, y: false } },
      series: [{ label: "time", value: (_, value) => format(value, "time") },
        ...this.series.map((one, i) => {
          const colour = one.colour || SERIES[i % SERIES.length];
          return { label: one.name, stroke: colour, width: one.dash ? 1.5 : 2, dash: one.dash,
            fill: one.fill ? `${colour}44` : undefined, points: { show: false },
            paths: this.x ? undefined : stepped, show: one.show !== false,
            value: (_, value) => format(value, this.kind) };
        })],
      hooks: this.x ? {} : { setSelect: [(plot) => this.selected(plot)] },
    };
  }

  selected(plot) {
    if (plot.select.width < 3) return;
    VIEW.set(plot.posToVal(plot.select.left, "x"),
      plot.posToVal(plot.select.left + plot.select.width, "x"));
  }

  build() {
    if (this.plot) this.plot.destroy();
    if (!this.place.clientWidth) return;
    this.plot = new uPlot(this.options(), this.data(), this.place);
    if (!this.x) {
      this.plot.setScale("x", { min: VIEW.from, max: VIEW.to });
      // Its own way to show all would leave the others behind.
      this.plot.over.addEventListener("dblclick", () => setTimeout(() => VIEW.reset()));
    }
  }

  resize() {
    if (!this.plot) this.build();
    else if (this.plot.width !== this.place.clientWidth) {
      this.plot.setSize({ width: this.place.clientWidth, height: this.height });
    }
  }
}

const DASH = [6, 4];

function hottestChart(title, edges, links) {
  const series = links.map((link, i) => ({ name: link.name, values: link.rate, show: i < 4 }));
  const capacities = [...new Set(links.map((link) => link.capacity))];
  for (const capacity of capacities.slice(0, 3)) {
    series.push({ name: capacities.length > 1 ? `capacity ${format(capacity, "rate")}` : "capacity",
      values: new Float64Array(edges.length).fill(capacity), dash: DASH, colour: THEME.colour("text") });
  }
  return new Chart({ title, edges, series, kind: "rate", height: 260 }).element;
}

function linkSection(run) {
  const { links } = run;
  if (!links) return section("hottest", "Links", note(`No links: ${run.missing.links}.`));
  const { curves } = links;
  if (curves.edges.length < 3) {
    return section("hottest", "Hottest links", note("The network keeps no account of its links over "
      + "time: they are known over the whole run alone."),
    tableOf(links.by_class, { filter: false }), tableOf(links.hottest));
  }
  return section("hottest", "Hottest links",
    hottestChart("Rate of the hottest links and their capacity", curves.edges, curves.links),
    new Chart({ title: "How busy links are over time", edges: curves.edges, kind: "share",
      series: Object.entries(curves.busy).map(([name, values]) => ({ name, values })) }).element,
    new Chart({ title: "All links together", edges: curves.edges, kind: "rate",
      series: [{ name: "bytes over links", values: curves.total, fill: true }] }).element,
    tableOf(links.by_class, { filter: false }), tableOf(links.hottest));
}

function channelSection(run) {
  const { channels } = run;
  if (!channels) return section("channels", "Memory channels", note(`No channels: ${run.missing.channels}.`));
  const { edges } = channels;
  return section("channels", "Memory channels",
    new Chart({ title: "DRAM, all channels together", edges, kind: "rate", series: [
      { name: "read", values: channels.read, fill: true },
      { name: "written", values: channels.written },
      { name: `capacity of the ${channels.count} channels in use`,
        values: new Float64Array(edges.length).fill(channels.capacity), dash: DASH,
        colour: THEME.colour("text") }] }).element,
    hottestChart("The hottest channels and their capacity", edges, channels.channels),
    tableOf(channels.hottest));
}

// What a service held, change by change.
function heldCharts({ tenant, edges, running, waiting, cache_blocks: taken }) {
  return [
    new Chart({ title: `${tenant}: requests that run and wait`, edges, kind: "count", series: [
      { name: "running", values: running, fill: true }, { name: "waiting", values: waiting }] }).element,
    new Chart({ title: `${tenant}: blocks of the cache`, edges, kind: "count", series: [
      { name: "taken", values: taken, fill: true }] }).element];
}

function distributionChart(what, curves) {
  const times = [...new Set(curves.flatMap((curve) => curve.times))].sort((a, b) => a - b);
  return new Chart({ title: `Time to ${what}: share that waited no longer`, x: times, kind: "share",
    edges: times, series: curves.map((curve) => ({ name: curve.tenant, values: times.map((time) => {
      let place = curve.times.findIndex((one) => one > time);
      if (place < 0) place = curve.times.length;
      return place ? curve.shares[place - 1] : 0;
    }) })) }).element;
}

function requestSection(run) {
  const { requests } = run;
  if (!requests) return null;
  const kinds = [...new Set(requests.curves.map((curve) => curve.what))];
  return section("requests", "Requests", tableOf(requests.services, { filter: false }),
    ...kinds.map((what) => distributionChart(what, requests.curves.filter((curve) => curve.what === what))),
    requests.not_held ? note(`What the first ${requests.held.length} services and replicas held; ${requests.not_held} more `
      + "are in the tables alone, and all others together in the picture service_load of scripts/plot.") : null,
    ...requests.held.flatMap(heldCharts), tableOf(requests.table));
}
