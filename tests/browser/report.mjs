// Opens a report in a headless Chromium and uses it as a reader does.
//
//     node report.mjs TOOLS run|compare|sweep REPORT.html FACTS.json [SCREENSHOT.png]
//
// TOOLS is the folder in which scripts/test installs playwright-core. FACTS is summary.json of a run, or
// what the test wants to find of others. Ends with 1 and a line for each thing that is wrong.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [, , tools, kind, file, factsFile, screenshot] = process.argv;
const { chromium } = createRequire(resolve(tools, "package.json"))("playwright-core");
const facts = JSON.parse(readFileSync(factsFile, "utf8"));
const wrong = [];

function expect(holds, text) {
  if (!holds) wrong.push(text);
}

async function open() {
  const browser = await chromium.launch({ executablePath: process.env.TESSERA_CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 }, colorScheme: "light" });
  page.on("console", (message) => expect(message.type() !== "error" && message.type() !== "warning",
    `console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("request", (request) => expect(request.url().startsWith("file:") || request.url().startsWith("blob:"),
    `asks the network for ${request.url()}`));
  await page.addInitScript(`${pixelsOf}\nwindow.pixelsOf = pixelsOf;`);
  await page.goto(`file://${resolve(file)}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", null, { timeout: 30000 });
  return { browser, page };
}

// The pixels of a canvas, by way of a copy: reading one often would change how it is drawn.
const pixelsOf = `function pixelsOf(canvas) {
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  return context.getImageData(0, 0, canvas.width, canvas.height).data;
}`;

// The colours of a canvas, as a number that changes with them.
const look = (page, selector) => page.$eval(selector, (canvas) => {
  const data = window.pixelsOf(canvas);
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) sum = (sum * 31 + data[i] + 3 * data[i + 1] + 7 * data[i + 2]) % 1e9;
  return sum;
});

// Different colours in a canvas: one that is drawn has some.
const colours = (page, selector) => page.$eval(selector, (canvas) => {
  const data = window.pixelsOf(canvas);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3]) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
  return seen.size;
});

function flat(value, path = "") {
  if (value === null || typeof value !== "object") return [[path, value]];
  return Object.entries(value).flatMap(([key, part]) => flat(part, path ? `${path}.${key}` : key));
}

async function summaryIsShown(page) {
  await page.click("#summary details summary");
  const more = await page.$("#summary details button[aria-label^='Show all']");
  if (more) await more.click();
  const rows = await page.$$eval("#summary details tbody tr", (list) => list.map((row) =>
    [row.cells[0].textContent, row.cells[2].textContent]));
  const shown = new Map(rows);
  for (const [key, value] of flat(facts)) {
    if (value !== "" && value !== null) {
      expect(shown.get(key) === String(value), `summary.json: ${key} is ${value}, shown is ${shown.get(key)}`);
    }
  }
}

async function everySectionIsThere(page) {
  const sections = await page.$$eval("main > section", (list) => list.map((part) => part.id));
  const named = facts.services && facts.services.length ? ["summary", "advice", "requests"]
    : ["summary", "advice", "breakdown", "operators"];
  for (const name of facts.trace === "none" ? named : [...named, "timeline"]) {
    expect(sections.includes(name), `no section ${name}, but ${sections}`);
  }
  const links = await page.$$eval("nav a", (list) => list.map((link) => link.getAttribute("href").slice(1)));
  expect(String(links) === String(sections), `navigation ${links} is not of ${sections}`);
  const nameless = await page.$$eval("button, input, select", (list) => list.filter((one) =>
    !(one.getAttribute("aria-label") || one.textContent || one.closest("label"))).length);
  expect(nameless === 0, `${nameless} controls have no name`);
}

const shownTime = (page) => page.textContent(".shown");

async function timelineZoomsAndFilters(page) {
  const canvas = "#timeline .timeline canvas";
  expect(await colours(page, canvas) > 3, "the timeline is empty");
  const whole = await shownTime(page);
  const before = await look(page, canvas);
  await page.click("#timeline button[aria-label='Zoom in']");
  expect(await shownTime(page) !== whole, "zooming in shows the same time");
  expect(await look(page, canvas) !== before, "zooming in draws the same");
  await page.focus(canvas);
  await page.keyboard.press("0");
  expect(await shownTime(page) === whole, "the key 0 does not show all");
  await page.keyboard.press("n");
  const said = await page.textContent("#live");
  expect(/micro-batch/.test(said), `the key N says '${said}'`);
  await page.keyboard.press("Enter");
  expect(await shownTime(page) !== whole, "Enter does not zoom to the operator");
  await page.keyboard.press("0");
  await drags(page, canvas, whole);
  const count = async () => parseInt((await page.textContent("#timeline-said")).replace(/[^0-9].*/, ""), 10);
  const all = await page.textContent("#timeline-said");
  await page.fill("#timeline input[type=search]", "no operator has this name");
  expect(await count() === 0, "a word that fits nothing leaves operators");
  await page.fill("#timeline input[type=search]", "");
  expect(await page.textContent("#timeline-said") === all, "without a word not all operators are there");
  await page.click("#timeline .controls input[type=checkbox] >> nth=0");
  expect(await page.textContent("#timeline-said") !== all, "an activity taken away leaves as many operators");
  await page.click("#timeline .controls input[type=checkbox] >> nth=0");
}

async function drags(page, canvas, whole) {
  await page.$eval(canvas, (element) => element.scrollIntoView({ block: "center" }));
  const box = await (await page.$(".timeline")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 80, box.y + 8, { steps: 3 });
  await page.mouse.up();
  expect(await shownTime(page) !== whole, "dragging over the timeline does not zoom");
  await page.click("#timeline button[aria-label='Show all of the time']");
  expect(await shownTime(page) === whole, "All does not show all");
}

async function mapsFollowTime(page) {
  if (!await page.$("#map")) return;
  const canvas = "#map .map canvas";
  expect(await colours(page, canvas) > 1, "the map is empty");
  const slider = await page.$("#map input[type=range]");
  if (slider) {
    const before = await look(page, canvas);
    await slider.focus();
    let changed = false;
    for (let step = 0; step < 12 && !changed; step++) {
      await page.keyboard.press("ArrowRight");
      changed = await look(page, canvas) !== before;
    }
    expect(changed, "the map is the same at all times");
    expect(/ to /.test(await page.textContent("#map output")), "the slider does not say the time");
    await page.keyboard.press("Home");
    expect(await look(page, canvas) === before, "the map of the whole run does not come back");
  }
  const scale = "#map .controls + canvas";
  const before = await look(page, scale);
  await page.selectOption("#map select", "percentile");
  expect(await look(page, scale) !== before, "the scale of percentiles is that of logarithms");
  await page.selectOption("#map select", "logarithmic");
}

async function tablesFilterAndSort(page, section) {
  const table = `#${section} .table >> nth=0`;
  const rows = () => page.$$eval(`${table} >> tbody tr`, (list) => list.length);
  const all = await rows();
  const [first] = await page.$$eval(`${table} >> tbody tr`, (list) => list.map((row) => row.cells[0].textContent));
  if (await page.$(`${table} >> input`)) {
    await page.fill(`${table} >> input`, first);
    expect(await rows() >= 1 && await rows() <= all, `filtering ${section}: ${await rows()} rows of ${all}`);
    await page.fill(`${table} >> input`, "no row has this");
    expect(await rows() === 0, `filtering ${section} leaves ${await rows()} rows`);
    await page.fill(`${table} >> input`, "");
  }
  await page.click(`${table} >> th button >> nth=0`);
  expect(/^(as|des)cending$/.test(await page.getAttribute(`${table} >> th >> nth=0`, "aria-sort")),
    `${section} does not say that it is sorted`);
}

// WCAG 2: 4.5 for text.
async function textStandsOut(page, theme) {
  const ratios = await page.$$eval("main p, main dt, main dd, main td, nav a, h1, h2", (list) => {
    const light = (text) => {
      const parts = text.match(/[0-9.]+/g).slice(0, 3).map((one) => one / 255)
        .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if (!/, 0\)$/.test(colour)) return colour;
      }
      return "rgb(255,255,255)";
    };
    return list.filter((one) => one.textContent.trim() && one.offsetParent).map((one) => {
      const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), one.textContent.slice(0, 30)];
    });
  });
  const low = ratios.filter(([ratio]) => ratio < 4.5);
  expect(low.length === 0, `${theme}: contrast of ${low.slice(0, 3).map(([ratio, text]) =>
    `'${text}' is ${ratio.toFixed(2)}`)}`);
}

async function hasTwoThemes(page) {
  const background = () => page.$eval("body", (body) => getComputedStyle(body).backgroundColor);
  const light = await background();
  await textStandsOut(page, "light");
  await page.click("#theme");
  expect(await background() !== light, "light and dark are the same");
  await textStandsOut(page, "dark");
  await page.click("#theme");
  expect(await background() === light, "light does not come back");
}

// As wide as A4 less its margins: nothing reaches over the edge, and charts are as wide as before afterwards.
async function fitsPaper(page) {
  const paper = Math.ceil(182 / 25.4 * 96);
  const widths = () => page.$$eval("main canvas", (list) => String(list.map((one) => Math.round(one.clientWidth))));
  const before = await widths();
  const size = page.viewportSize();
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  // What is drawn is so at once: no observer comes before the paper.
  const drawn = (await widths()).split(",").map(Number);
  expect(drawn.every((width) => width <= paper), `canvases are ${Math.max(...drawn)} wide on paper of ${paper}`);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: paper, height: 900 });
  const beyond = await page.$$eval("main *", (list, edge) => list.filter((one) => one.offsetParent
    && one.getBoundingClientRect().width && one.getBoundingClientRect().right > edge + 1).map((one) =>
    `${one.tagName} ${one.className} ${Math.round(one.getBoundingClientRect().right)}`), paper);
  expect(beyond.length === 0, `${beyond.length} elements reach over paper of ${paper}: ${beyond.slice(0, 4)}`);
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize(size);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  expect(await widths() === before, `after printing canvases have widths ${await widths()}, not ${before}`);
}

async function prints(page) {
  await fitsPaper(page);
  const paper = await page.pdf({ format: "A4" });
  expect(paper.length > 20000 && paper.subarray(0, 5).toString() === "%PDF-", `prints ${paper.length} bytes`);
  await page.waitForFunction(() => !document.documentElement.classList.contains("printing"));
}

// A chart of requests and one of blocks of each service, that draw something.
async function servicesAreDrawn(page) {
  const titles = await page.$$eval("#requests figcaption", (list) => list.map((one) => one.textContent));
  for (const { tenant } of facts.services || []) {
    for (const what of ["requests that run and wait", "blocks of the cache"]) {
      expect(titles.includes(`${tenant}: ${what}`), `no chart of ${what} of ${tenant}, but ${titles}`);
    }
  }
}

// Of each stage over time, below what bars show as the capacity.
async function memoryHasCapacities(page) {
  const [line] = (await page.$$eval("#memory > .note", (list) => list.map((one) => one.textContent)))
    .filter((text) => /upright line/.test(text));
  const legends = await page.$$eval("#memory .u-legend", (list) => list.map((one) => one.textContent));
  expect(!line || legends.every((text) => /capacity of/.test(text)), `no capacity over time: ${legends}`);
}

async function checkRun(page) {
  await everySectionIsThere(page);
  await summaryIsShown(page);
  await servicesAreDrawn(page);
  if (facts.trace === "none") {
    await tablesFilterAndSort(page, "requests");
    return;
  }
  await timelineZoomsAndFilters(page);
  await mapsFollowTime(page);
  await memoryHasCapacities(page);
  await tablesFilterAndSort(page, "operators");
}

async function checkComparison(page) {
  for (const text of facts.shows) {
    expect((await page.textContent("main")).includes(text), `'${text}' is not shown`);
  }
  expect((await page.$$("#timeline .timeline canvas")).length === facts.runs, "not one timeline a run");
  const maps = facts.maps ?? 2 * facts.runs - 1;  // one a run and difference
  expect((await page.$$("#map .map canvas")).length === maps, `not ${maps} maps`);
  await mapsFollowTime(page);
  await tablesFilterAndSort(page, "operators-table");
}

async function checkSweep(page) {
  const more = await page.$("#points button[aria-label^='Show all']");
  if (more) await more.click();
  expect((await page.$$("#points tbody tr")).length === facts.points, "not all points are in the table");
  expect((await page.textContent("#summary")).includes(facts.best), `the best is not ${facts.best}`);
  expect(await colours(page, "#front canvas") > 2, "the front is empty");
  const text = await page.textContent("#heat table");
  await page.selectOption("#heat select >> nth=2", facts.other);
  expect(await page.textContent("#heat table") !== text, "another column has the same map");
  await tablesFilterAndSort(page, "points");
}

const { browser, page } = await open();
try {
  await { run: checkRun, compare: checkComparison, sweep: checkSweep }[kind](page);
  await hasTwoThemes(page);
  await prints(page);
  if (screenshot) await page.screenshot({ path: screenshot, fullPage: true });
} catch (error) {
  wrong.push(error.message);
}
await browser.close();
for (const line of wrong) console.log(line);
process.exitCode = wrong.length ? 1 : 0;
