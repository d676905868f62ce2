/* The report's table of locks, and what it says of one lock when that is opened. */
const lockName = (lock) => lock.called + (lock.members > 1 ? ` ×${lock.members}` : "");

/* Numbers of a lock: rows of lockcolumns.py. Of waits, the number of the worst kind. */
const UNITS = { duration, percent, count: number };
function fieldOf(lock, field) {
  const [first, ...rest] = field.split(".");
  if (first !== "waits") return field.split(".").reduce((found, name) => found?.[name], lock);
  const known = Object.values(lock.waits).map((waits) => waits[rest[0]]).filter(Number.isFinite);
  return known.length ? Math.max(...known) : undefined;
}
function asColumn({ field, unit, page, needs, bar }) {
  const of = (lock) => (needs && !lock[needs] ? undefined : fieldOf(lock, field)) ?? -1;
  const more = (lock) => (field === "acquisitions" && lock.counted_in_part ? "+" : "");
  const show = (lock) => (of(lock) < 0 ? "-" : UNITS[unit](of(lock)) + more(lock));
  return { key: field, title: page, of, show, finish: bar ? meter : undefined };
}
const COLUMNS = [
  { key: "name", title: "Lock", of: (l) => l.name.toLowerCase() },
  { key: "object", title: "Kind", of: (l) => l.object, text: true },
  ...data.columns.map(asColumn),
];
/* Only where the reader gave predictions or a policy. */
const WHAT_IF = { key: "whatif", title: "What if", text: true, of: (l) => bestGain(l),
  show: (l) => bestText(l), finish: short };
function short(cell) {
  cell.classList.add("short");
  cell.title = cell.textContent;
}
const POLICY = { key: "policy", title: "Policy", text: true, of: (l) => policyText(l),
  show: (l) => policyText(l) };

let largestShare = 1;
function meter(cell, lock) {
  if (!lock.lost_ns) return;
  cell.className = "meter";
  cell.style.backgroundSize = `${(lock.lost_share / largestShare) * 100}% 70%`;
}

/* Predictions: `data.whatif` is what `syncopate simulate --from RECORD --json` wrote, by lock. */
const factor = (gain) => gain.toFixed(gain < 10 ? 2 : 0) + "×";
const answersOf = (lock) => data.whatif.filter((each) => each.lock.name === lock.name)
  .flatMap(({ answers, machine }) =>
    answers.map((answer) => ({ ...answer, machine: machine.split("/").pop() })));
const bestAnswer = (lock) => answersOf(lock).reduce((best, each) =>
  (!best || each.gain > best.gain ? each : best), null);
const bestGain = (lock) => bestAnswer(lock)?.gain ?? 0;
const gainText = ({ gain, low, high }) => `${factor(gain)} (${factor(low)} to ${factor(high)})`;
function bestText(lock) {
  const best = bestAnswer(lock);
  return best ? `${gainText(best)} ${best.label}, ${best.threads} threads` : "-";
}
const rate = (value) => number(Math.round(value));
const ANSWER_COLUMNS = [["Change", (a) => a.label], ["Machine", (a) => a.machine, true],
  ["Threads", (a) => a.threads], ["Sections/s now", (a) => rate(a.before)],
  ["then", (a) => rate(a.after)], ["Gain (error bar)", (a) => gainText(a)]];
function predictions(lock) {
  const answers = answersOf(lock);
  if (!answers.length) return [];
  const assumed = data.whatif.filter((each) => each.lock.name === lock.name)
    .flatMap((each) => each.assumptions);
  return [newTable("What if: simulated, with error bars", ANSWER_COLUMNS,
    answers.sort((a, b) => b.gain - a.gain)),
    element("details", {}, element("summary", { textContent: "Assumed" }),
      element("ul", {}, ...[...new Set(assumed)].map((each) => soft(each, "li"))))];
}

function policyOf(lock) {
  const index = data.policyOf?.[current]?.[data.records[current].locks.indexOf(lock)];
  return index === undefined || index === null ? null : data.policy.entries[index];
}
const choice = (entry) => [entry.lock, entry.elide && `elision ${entry.elide}`]
  .filter(Boolean).join(", ");
const policyText = (lock) => (policyOf(lock) ? choice(policyOf(lock)) : "-");

/* Fairness: a thread that waits longer at each turn than its equals is passed over. */
const FAIRNESS_COLUMNS = [["Thread", (t) => t.thread], ["Waits", (t) => number(t.waits)],
  ["Waited", (t) => duration(t.waited_ns)], ["Mean", (t) => duration(t.waited_ns / t.waits)],
  ["Longest", (t) => duration(t.max_ns)], ["Share", (t) => percent(t.share)]];
const FEW_THREADS = 8; // a longer table is folded
const FEW_WAITS = 10; // a mean of fewer is left out of the comparison of threads
function fairness(lock) {
  const each = lock.by_thread.map((thread) =>
    ({ ...thread, share: lock.waited_ns ? thread.waited_ns / lock.waited_ns : 0 }));
  if (each.length < 2) return [];
  const table = newTable("Waits by thread", FAIRNESS_COLUMNS, each);
  const folded = each.length <= FEW_THREADS ? table : element("details", {},
    element("summary", { textContent: `Waits by thread: ${number(each.length)}` }), table);
  table.querySelectorAll("tbody tr").forEach((row, index) => {
    row.lastChild.className = "meter";
    row.lastChild.style.backgroundSize = `${(each[index].share / each[0].share) * 100}% 70%`;
  });
  const means = each.filter((t) => t.waits >= FEW_WAITS).map((t) => t.waited_ns / t.waits);
  const said = means.length > 1
    ? `The mean waits of those threads that waited ${FEW_WAITS} times or more differ by a factor ` +
      `of ${factor(Math.max(...means) /
      Math.max(1, Math.min(...means))).slice(0, -1)}.`
    : `Fewer than two threads waited ${FEW_WAITS} times: too few to tell whether that is fair.`;
  const left = lock.threads_waited - each.length;
  const more = left ? ` ${several(left, "more thread")} waited for no longer.` : "";
  return [folded, soft(said + more, "p")];
}

/* At barriers of OpenMP, and at the end of its regions, where the run-time's own barrier is. */
function cameLast(lock) {
  const table = (title, rows, [heading, field]) => rows.length ? [newTable(title, [
    ["Thread", (t) => t.thread, true], ["Last", (t) => number(t.last)],
    [heading, (t) => duration(t[field])]], rows)] : [];
  return [...table("Who came last here", lock.arrivals, ["Waited", "waited_ns"]),
    ...table("Who came last at the end", lock.region_ends, ["Others waited", "others_waited_ns"])];
}

function facts(lock) {
  const lines = Object.entries(lock.waits).map(([kind, w]) =>
    `${spaced(kind)}: ${several(w.count, "wait")}, mean ` +
    `${duration(w.mean_ns)}, p50 ${duration(w.p50_ns)}, p99 ${duration(w.p99_ns)}, ` +
    `max ${duration(w.max_ns)}`);
  if (lock.hold)
    lines.push(`held (sampled): mean ${duration(lock.hold.mean_ns)}, ` +
      `p99 ${duration(lock.hold.p99_ns)}, max ${duration(lock.hold.max_ns)}`);
  const cut = lock.hold && lock.hold.interrupted;
  if (cut)
    lines.push(`of ${several(cut.watched, "hold")} looked at, ${number(cut.preempted)} ` +
      `${cut.preempted === 1 ? "was" : "were"} preempted, ` +
      `${several(cut.preemptions, "time")} in all; ${number(cut.slept)} slept`);
  if (lock.elision)
    lines.push(`elided: ${several(lock.elision.committed, "section")} committed, ` +
      `${number(lock.elision.fell_back)} fell back; aborts: ` +
      Object.entries(lock.elision.aborts).map(([cause, n]) =>
        `${spaced(cause)} ${number(n)}`).join(", "));
  const names = { symbol: "variable in ", creation: "created at ", "first use": "first used at " };
  if (lock.unexplained) lines.push(lock.unexplained);
  if (lock.worst)
    lines.push(`${percent(lock.worst.share)} of it at one of the ${number(lock.members)}: ` +
      (lock.worst.called || lock.worst.address) +
      (lock.worst.told_by ? `, ${lock.worst.told_by}` : ""));
  if (names[lock.named_by]) lines.push(names[lock.named_by] + lock.place);
  const entry = policyOf(lock);
  if (entry)
    lines.push(`policy: ${choice(entry)}` + [entry.reason, entry.gain].filter(Boolean)
      .map((text) => `; ${text}`).join(""));
  return lines.map((line) => soft(line));
}
function detail(lock) {
  const charts = Object.entries(lock.waits).map(([kind, waits]) =>
    distribution(`How long waits took (${spaced(kind)})`,
      [{ label: "waits", style: "waits", buckets: waits.histogram },
        { label: "time waited", style: "before", buckets: waits.histogram, byTime: true }]));
  if (lock.hold)
    charts.push(distribution("How long it was held (sampled)",
      [{ label: "holds", style: "holds", buckets: lock.hold.histogram }]));
  const blocks = data.records[current].blocks.filter((block) => block.lock === lock.name);
  const graph = lock.lost_ns && blocks.length ? [element("figure", {},
    element("figcaption", { textContent: "Who made whom wait here: waiters left, holders right" }),
    flow(blocks, () => COLORS[0]))] : [];
  const held = lock.lost_ns ? [stackList("Who held it meanwhile", lock.holders)] : [];
  const link = element("a", { href: linkTo(lock), textContent: "Link to this lock" });
  return [...facts(lock), ...predictions(lock),
    element("div", { className: "stacks" }, stackList("Who waited", lock.waiters), ...held),
    element("div", { className: "stacks" }, ...charts), ...graph, ...cameLast(lock),
    ...fairness(lock), link];
}

const LOCKS = ["mutex", "rwlock", "spinlock"];
let lockTable = null;
function fillLocks() {
  const record = data.records[current];
  const kind = at("kind").value, text = at("filter").value.toLowerCase();
  const isOfKind = (l) => kind === "all"
    || (kind === "lost" ? l.lost_ns || LOCKS.includes(l.object) : l.object === kind);
  const locks = record.locks.filter((l) =>
    isOfKind(l) && `${l.name} ${l.called}`.toLowerCase().includes(text));
  largestShare = Math.max(1e-9, ...locks.map((l) => l.lost_share));
  lockTable.show(locks);
  fillFlame(locks);
  const hidden = record.hidden ? `; ${several(record.hidden, "more row")} left out by --top` : "";
  at("shown").textContent = `${number(locks.length)} of ${number(record.locks.length)}${hidden}`;
  const [first] = lockTable.rows;
  if (first?.lost_ns) lockTable.open(first);
}
function makeLockTable() {
  const columns = [...COLUMNS];
  if (data.whatif.length) columns.splice(4, 0, WHAT_IF);
  if (data.policy) columns.splice(4, 0, POLICY);
  lockTable = new LongTable(at("locks"), at("more-locks"),
    { columns, order: { key: "waited_ns", down: true }, detail, name: lockName });
}

/* A lock has an address of its own, so that it can be pointed at: #record/kind/name. */
const linkTo = (lock) => "#" + [current, lock.object, lock.name].map(encodeURIComponent).join("/");
function followLink() {
  const [record, object, name] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (name === undefined || !data.records[record]) return;
  if (Number(record) !== current) show(Number(record));
  const lock = data.records[record].locks.find((l) => l.object === object && l.name === name);
  if (!lock) return;
  at("kind").value = "all";
  at("filter").value = "";
  fillLocks();
  const line = lockTable.open(lock);
  line.scrollIntoView();
  line.querySelector("button").focus({ preventScroll: true });
}
