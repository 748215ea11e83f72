// Tables that sort by a column and filter by a word.
"use strict";

const FEW_ROWS = 15;

class Table {
  constructor(content, { bars = true, filter = content.rows.length > 8 } = {}) {
    this.content = content;
    this.order = null;
    this.word = "";
    this.all = content.rows.length <= FEW_ROWS + 5;
    this.most = content.columns.map((column, i) => (bars && column.kind === "share"
      ? Math.max(...content.rows.map((row) => Math.abs(row[i] ?? 0)), 1e-12) : 0));
    this.body = el("tbody");
    this.heads = content.columns.map((column, i) => this.head(column, i));
    this.more = el("p", { class: "note" });
    this.element = el("div", { class: "table" },
      filter ? el("label", { class: "control" }, "Filter ", el("input", {
        type: "search", placeholder: "word", oninput: (event) => this.filter(event.target.value),
      })) : null,
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": content.title },
        el("table", {}, el("caption", {}, content.title, content.note
          ? el("span", { class: "note" }, ` – ${content.note}`) : ""),
        el("thead", {}, el("tr", {}, ...this.heads)), this.body)), this.more);
    this.fill();
  }

  head(column, i) {
    return el("th", { scope: "col", class: column.kind === "text" ? "" : "number" },
      el("button", { type: "button", onclick: () => this.sort(i) }, column.name));
  }

  sort(column) {
    const down = this.order && this.order.column === column ? !this.order.down
      : this.content.columns[column].kind !== "text";
    this.order = { column, down };
    this.heads.forEach((head, i) => head.setAttribute("aria-sort",
      i === column ? (down ? "descending" : "ascending") : "none"));
    this.fill();
  }

  filter(word) {
    this.word = word.toLowerCase();
    this.fill();
    announce(`${this.rows().length} rows`);
  }

  rows() {
    const rows = this.content.rows.filter((row) => !this.word
      || row.some((cell) => String(cell).toLowerCase().includes(this.word)));
    if (this.order) {
      const { column, down } = this.order;
      const text = this.content.columns[column].kind === "text";
      rows.sort((a, b) => (text ? String(a[column]).localeCompare(String(b[column]), "en",
        { numeric: true }) : (a[column] ?? -Infinity) - (b[column] ?? -Infinity)) * (down ? -1 : 1));
    }
    return rows;
  }

  cell(value, i) {
    const kind = this.content.columns[i].kind;
    const made = el("td", { class: kind === "text" ? "" : "number" }, format(value, kind));
    if (this.most[i] && value > 0) {
      made.classList.add("bar");
      made.style.setProperty("--share", `${100 * value / this.most[i]}%`);
    }
    return made;
  }

  fill() {
    const rows = this.rows();
    const shown = this.all ? rows : rows.slice(0, FEW_ROWS);
    this.body.replaceChildren(...shown.map((row) => el("tr", {},
      ...row.map((value, i) => this.cell(value, i)))));
    this.more.replaceChildren(...(shown.length < rows.length ? [
      `${shown.length} of ${rows.length} rows. `,
      button("Show all", `Show all ${rows.length} rows`, () => {
        this.all = true;
        this.fill();
      })] : []));
  }
}

function tableOf(content, options) {
  return content ? new Table(content, options).element : null;
}
