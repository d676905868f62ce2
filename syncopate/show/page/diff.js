/* The comparison of two records. `data` is what `syncopate diff --json` prints, and `locks`, by row
   the lock as each report has it, or null. */
const MARKS = { noise: " ~", few: " ?" };
const SAID = { more: "waits more", less: "waits less", noise: "noise", few: "too few waits",
  same: "same", moved: "moved" };
const moved = (values) => values.after - values.before;
function difference(values) {
  if (!moved(values)) return "-";
  const text = (moved(values) < 0 ? "−" : "+") + duration(Math.abs(moved(values)));
  if (!values.before) return text;
  const times = values.after / values.before;
  if (times >= 10) return `${text} (${number(Math.round(times))}×)`;
  let by = Math.abs((times - 1) * 100).toFixed(0);
  if (times > 0 && times < 1 && by === "100") // something is left
    by = (Math.floor((1 - times) * 1000) / 10).toFixed(1);
  return `${text} (${times < 1 ? "−" : "+"}${by} %)`;
}
function both(values, show) {
  const [before, after] = [values.before, values.after]
    .map((value) => (value === null ? "-" : show(value)));
  return before === after && values.verdict === "same" ? before
    : `${before} → ${after}${MARKS[values.verdict] || ""}`;
}
const side = (values, show) => both({ ...values, verdict: "" }, show);
let largest = 1;
function bar(cell, row) {
  cell.className = `meter ${row.waited.verdict}`;
  cell.style.backgroundSize = `${(Math.abs(moved(row.waited)) / largest) * 100}% 70%`;
}
const relative = (values) => (values.after ?? 0) - (values.before ?? 0);
const COLUMNS = [
  { key: "name", title: "Lock", of: (r) => r.name.toLowerCase() },
  { key: "object", title: "Kind", of: (r) => r.object, text: true },
  { key: "in", title: "In", of: (r) => r.in, text: true,
    show: (r) => (r.in === "both" ? "both" : `only ${r.in}`) },
  { key: "waited", title: "Waited", of: (r) => r.waited.after,
    show: (r) => side(r.waited, duration) },
  { key: "change", title: "Change", of: (r) => Math.abs(moved(r.waited)),
    show: (r) => difference(r.waited), finish: bar },
  { key: "verdict", title: "Verdict", of: (r) => SAID[r.waited.verdict], text: true },
  { key: "contended", title: "Contended", of: (r) => relative(r.contended_share),
    show: (r) => both(r.contended_share, percent) },
  { key: "p99", title: "p99 wait", of: (r) => relative(r.p99_ns),
    show: (r) => both(r.p99_ns, duration) },
  { key: "hold", title: "Mean hold", of: (r) => relative(r.hold_ns),
    show: (r) => both(r.hold_ns, duration) },
  { key: "taken", title: "Taken", of: (r) => relative(r.acquisitions),
    show: (r) => both(r.acquisitions, (n) => number(Math.round(n))) },
];
function series(row, bucketsOf) {
  return data.locks[data.rows.indexOf(row)].map((lock, index) => lock &&
    { label: index ? "after" : "before", style: index ? "after" : "before",
      buckets: bucketsOf(lock) }).filter(Boolean);
}
/* All kinds of wait together; kinds share their buckets but for the last one. */
const allWaits = (lock) => Object.values(lock.waits).flatMap((waits) => waits.histogram)
  .sort(([a], [b]) => a - b);
function detail(row) {
  const lines = [];
  if (row.name_before && row.name_before !== row.name)
    lines.push(`before: ${row.name_before}`);
  if (row.waited.noise !== null)
    lines.push(`chance alone: up to ${duration(row.waited.noise)} of the change in waiting`);
  const locks = data.locks[data.rows.indexOf(row)];
  const stacks = locks.map((lock, index) =>
    lock && stackList(`Who waited ${index ? "after" : "before"}`, lock.waiters)).filter(Boolean);
  return [...lines.map((line) => soft(line)),
    element("div", { className: "stacks" },
      distribution("How long waits took, as shares", series(row, allWaits)),
      distribution("How long it was held (sampled), as shares",
        series(row, (lock) => lock.hold?.histogram || []))),
    element("div", { className: "stacks" }, ...stacks)];
}
const lockTable = new LongTable(at("locks"), at("more-locks"), { columns: COLUMNS,
  order: { key: "change", down: true }, detail,
  name: (row) => row.name + (row.members > 1 ? ` ×${row.members}` : "") });
const CHANGE = { noise: "change, within noise", few: "change, of too few waits" };
const CHOICES = { lost: (r) => r.lost, all: () => true,
  told: (r) => r.lost && ["more", "less"].includes(r.waited.verdict),
  before: (r) => r.lost && r.in === "before", after: (r) => r.lost && r.in === "after" };
function fillLocks() {
  const text = at("filter").value.toLowerCase();
  const rows = data.rows.filter((row) => CHOICES[at("kind").value](row) &&
    `${row.name} ${row.name_before}`.toLowerCase().includes(text));
  largest = Math.max(1, ...rows.map((row) => Math.abs(moved(row.waited))));
  lockTable.show(rows);
  at("shown").textContent = `${number(rows.length)} of ${number(data.rows.length)}`;
  if (rows.length) lockTable.open(lockTable.rows[0]);
}
const RUN_COLUMNS = [["Run", (r) => r.side], ["Record", (r) => r.file, true],
  ["Command", (r) => r.command.join(" "), true],
  ["With", (r) => r.with, true],
  ["Ran", (r) => (r.cut_short ? "recorded for " : "") + duration(r.duration_ns)],
  ["Threads", (r) => howMany(r, r.threads)],
  ["Lost to locks", (r) => duration(r.lost_ns)], ["Share", (r) => percent(r.lost_share)]];
function fillHeader() {
  const sides = ["before", "after"].map((name) => ({ side: name, ...data[name],
    with: data.ran_with[name] }));
  fillTable(at("runs"), RUN_COLUMNS, sides);
  const per = data.per === "second" ? " a second" : "";
  at("about").textContent = sides.map((each) => each.file).join(" → ");
  const found = (verdict) =>
    data.rows.filter((row) => row.lost && row.waited.verdict === verdict).length;
  const cards = [[`lost to locks${per} before`, duration(data.lost.before)],
    [`lost to locks${per} after`, duration(data.lost.after)],
    [CHANGE[data.lost.verdict] || "change", difference(data.lost)],
    ["locks wait more", found("more")], ["locks wait less", found("less")],
    ["locks changed within noise", found("noise")],
    ["locks moved: others changed the other way", found("moved")],
    ["locks with too few waits to tell", found("few")]];
  at("cards").replaceChildren(...cards.map(([what, value]) =>
    element("div", { className: "card" }, element("b", { textContent: value }),
      soft(what, "span"))));
  const notes = sides.flatMap((each) => each.notes.map((note) => `${each.side}: ${note}`));
  at("notes").replaceChildren(...[...data.remarks, ...notes].map((note) =>
    element("div", { className: "note", textContent: note })));
}
at("kind").onchange = at("filter").oninput = fillLocks;
wireTheme(() => {});
fillHeader();
fillLocks();
