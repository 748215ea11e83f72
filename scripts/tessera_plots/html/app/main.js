// Puts the sections of a report together.
"use strict";

function configSection(run) {
  if (!run.config) return null;
  const place = el("pre", { tabindex: "0", class: "scroll" }, run.config);
  return section("configuration", "Configuration", el("details", {},
    el("summary", {}, "config.resolved.yaml, with all defaults"),
    el("label", { class: "control" }, "Filter ", el("input", { type: "search", placeholder: "key",
      oninput: (event) => {
        const word = event.target.value.toLowerCase();
        place.textContent = run.config.split("\n").filter((line) =>
          line.toLowerCase().includes(word)).join("\n");
      } })), place));
}

function missingSection(run) {
  const lines = Object.entries(run.missing);
  return lines.length ? section("missing", "What this report has not", el("ul", {}, ...lines.map(
    ([name, why]) => el("li", {}, `${name}: ${why}`)))) : null;
}

function sectionsOfRun(run) {
  VIEW.end = VIEW.to = run.timeline ? run.timeline.end : Math.max(1, run.end);
  return [summarySection(run), adviceSection(run), breakdownSection(run), timelineSection(run),
    mapSection([run]), linkSection(run), channelSection(run), memorySection(run),
    run.operators ? section("operators", "Operators", tableOf(run.operators)) : null,
    run.collectives ? section("collectives", "Collectives", tableOf(run.collectives)) : null,
    requestSection(run), configSection(run), missingSection(run)];
}

function navigation(sections) {
  return sections.map((part) => el("li", {}, el("a", { href: `#${part.id}` },
    part.querySelector("h2").textContent)));
}

// Tables that are wider than paper become smaller; in the widest, words break.
function fitTables(begins) {
  const least = 0.6;
  for (const table of document.querySelectorAll("main table:not(.u-legend)")) {
    table.style.zoom = "";
    table.classList.remove("broken");
    const excess = begins && table.offsetWidth ? table.offsetWidth / table.parentElement.clientWidth : 1;
    if (excess > 1) table.style.zoom = Math.max(least, 0.99 / excess);
    table.classList.toggle("broken", excess * least > 0.99);
  }
}

// Prints on white, as wide as paper, with the numbers of bars, and canvases as sharp as paper.
function preparePrint(begins) {
  PRINTING.ratio = begins ? 2 : 0;
  document.documentElement.classList.toggle("printing", begins);
  for (const part of document.querySelectorAll("details")) {
    if (begins) part.dataset.was = part.open ? "1" : "";
    part.open = begins ? ["breakdown", "memory"].includes(part.parentElement.id)
      : part.dataset.was === "1";
  }
  fitTables(begins);
  THEME.changed();
}

async function start() {
  const main = document.getElementById("main");
  try {
    const report = await readReport();
    const kinds = { run: () => sectionsOfRun(report.runs[0]), compare: () => sectionsOfComparison(report),
      sweep: () => sectionsOfSweep(report) };
    const sections = kinds[report.kind]().filter(Boolean);
    main.replaceChildren(...sections);
    document.querySelector("nav ul").replaceChildren(...navigation(sections));
    document.getElementById("theme").addEventListener("click", THEME.toggle);
    document.getElementById("print").addEventListener("click", () => window.print());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", THEME.changed);
    window.addEventListener("beforeprint", () => preparePrint(true));
    window.addEventListener("afterprint", () => preparePrint(false));
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    main.replaceChildren(el("p", { class: "error", role: "alert" },
      `This report cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
    throw error;
  }
}

start();
