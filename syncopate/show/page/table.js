/* A table of any length: sorts by any column, adds rows as they are asked for, opens details.

   Columns have key, title, of (what is sorted by), and maybe show (the text), text (left-aligned),
   finish(cell, row). `more` is a button below the table. */
const PAGE = 100; // rows at first; each press on `more` doubles them
class LongTable {
  constructor(table, more, { columns, order, detail, name }) {
    Object.assign(this, { table, more, columns, order, detail, name, rows: [], shown: 0 });
    more.onclick = () => {
      const before = this.shown;
      this.grow(before);
      table.querySelectorAll("button.name")[before].focus();
    };
  }
  show(rows) {
    const column = this.columns.find((each) => each.key === this.order.key);
    const sign = this.order.down ? -1 : 1;
    this.rows = rows.map((row) => [column.of(row), row]).sort(([x], [y]) =>
      (x < y ? -1 : x > y ? 1 : 0) * sign).map(([, row]) => row);
    this.fillHead();
    this.table.tBodies[0].replaceChildren();
    this.shown = 0;
    this.grow(PAGE);
  }
  grow(by) {
    const rows = this.rows.slice(this.shown, this.shown + by);
    this.table.tBodies[0].append(...rows.map((row) => this.line(row)));
    this.shown += rows.length;
    const left = this.rows.length - this.shown;
    this.more.hidden = !left;
    this.more.textContent = `Show ${number(Math.min(left, this.shown))} more of ${number(left)}`;
  }
  fillHead() {
    const row = element("tr");
    for (const { key, title, text } of this.columns) {
      const button = element("button", { type: "button", textContent: title });
      button.onclick = () => {
        this.order = { key, down: this.order.key === key ? !this.order.down : !text };
        const open = this.opened();
        this.show(this.rows);
        open.filter((each) => this.rows.indexOf(each) < this.shown)
          .forEach((each) => this.open(each));
        this.table.tHead.querySelector(`[data-key="${key}"] button`).focus();
      };
      const cell = element("th", { scope: "col", className: text ? "text" : "" }, button);
      cell.dataset.key = key;
      if (this.order.key === key)
        cell.setAttribute("aria-sort", this.order.down ? "descending" : "ascending");
      row.append(cell);
    }
    this.table.tHead.replaceChildren(row);
  }
  line(row) {
    const name = this.name(row);
    const button = element("button", { type: "button", className: "name", textContent: name,
      title: name });
    button.setAttribute("aria-expanded", "false");
    const line = element("tr", { className: "lock" },
      element("th", { scope: "row" }, button));
    for (const column of this.columns.slice(1)) {
      const cell = element("td", { textContent: (column.show || column.of)(row),
        className: column.text ? "text" : "" });
      if (column.finish) column.finish(cell, row);
      line.append(cell);
    }
    line.onclick = () => this.toggle(line, row);
    return line;
  }
  toggle(line, row) {
    const button = line.querySelector("button");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) return line.nextSibling.remove();
    const cell = element("td", { colSpan: this.columns.length },
      element("div", { className: "sheet" }, ...this.detail(row)));
    line.after(element("tr", { className: "detail" }, cell));
  }
  opened() {
    const lines = [...this.table.querySelectorAll("tr.lock")];
    return this.rows.filter((_, index) => lines[index]?.nextSibling?.className === "detail");
  }
  /* Opens the details of a row, adding rows until it is there. Returns its line, or undefined. */
  open(row) {
    const index = this.rows.indexOf(row);
    if (index < 0) return undefined;
    if (index >= this.shown) this.grow(index + 1 - this.shown);
    const line = this.table.querySelectorAll("tr.lock")[index];
    if (line.querySelector("button").getAttribute("aria-expanded") === "false")
      this.toggle(line, row);
    return line;
  }
}
