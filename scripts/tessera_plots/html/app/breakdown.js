// Where the time of tiles goes: a bar for each stage, and what to try next.
"use strict";

function shareBar(activities, shares) {
  const colours = activityColours(activities);
  return el("div", { class: "stack", role: "img", "aria-label": activities.map((name, i) =>
    `${activityLabel(name)} ${format(shares[i], "share")}`).join(", ") },
  ...activities.map((name, i) => {
    const colour = colours.get(name);
    const piece = el("span", {
      title: `${activityLabel(name)}: ${format(shares[i], "share")}`,
      style: `width:${100 * shares[i]}%;background:${name === "bubble" ? "var(--idle)" : colour};`
        + `color:${name === "bubble" ? "var(--text)" : textOn(colour)}`,
    }, shares[i] >= 0.05 ? `${Math.round(100 * shares[i])}` : "");
    return piece;
  }));
}

function activityLegend(activities) {
  return legend([...activityColours(activities)].map(([name, colour]) => [activityLabel(name),
    name === "bubble" ? "var(--idle)" : colour]));
}

function breakdownBars(groups) {
  const activities = groups[0].activities;
  const list = el("div", { class: "bars scroll", tabindex: "0", role: "region",
    "aria-label": "Breakdown" });
  const filter = (word) => list.replaceChildren(...groups.filter((group) => !word
    || group.name.toLowerCase().includes(word.toLowerCase())).map((group) =>
    el("div", { class: "bar-row" }, el("span", { class: "bar-name" }, group.name),
      shareBar(group.activities, group.shares))));
  filter("");
  return el("div", {}, activityLegend(activities), groups.length > 12
    ? el("label", { class: "control" }, "Filter ", el("input", {
      type: "search", placeholder: "stage", oninput: (event) => filter(event.target.value),
    })) : null, list);
}

function breakdownTable(breakdown) {
  return {
    title: "Shares in numbers", note: breakdown.source,
    columns: [{ name: "of", kind: "text" }, ...breakdown.activities.map((name) => (
      { name: activityLabel(name), kind: "share" }))],
    rows: breakdown.groups.map((group) => [group.name, ...group.shares]),
  };
}

function breakdownSection(run) {
  const { breakdown } = run;
  if (!breakdown) return section("breakdown", "Breakdown", note(run.missing.breakdown));
  const groups = breakdown.groups.map((group) => ({ ...group, activities: breakdown.activities }));
  return section("breakdown", "Breakdown by stage",
    note(`Share of the time of tiles, ${breakdown.source}, in percent.`),
    breakdownBars(groups),
    el("details", {}, el("summary", {}, "Numbers"), tableOf(breakdownTable(breakdown))));
}

function adviceSection(run) {
  if (!run.advice.length) return null;
  return section("advice", "What to try next", el("ol", { class: "advice" }, ...run.advice.map(
    (entry) => el("li", {}, el("h3", {}, entry.title, " ",
      el("span", { class: "tag" }, `${format(entry.share, "share")} ${entry.of || "of the time of tiles"}`)),
    el("ul", {}, ...entry.lines.map((line) => el("li", {}, ...rich(line))))))));
}
