/* The report: everything about the record that is chosen. Last of the page's scripts. */
let current = 0, view = null;
const FEW = 12; // rows of who blocks whom, until more are asked for
function fillBlocks(every) {
  const { blocks, blocks_left_out: others } = data.records[current];
  const total = blocks.reduce((sum, block) => sum + block.ns, others.ns);
  const columns = [["Waiter", (b) => b.waiter, true], ["Holder", (b) => b.holder, true],
    ["Lock", (b) => b.lock, true], ["Time", (b) => duration(b.ns)],
    ["Share", (b) => percent(total ? b.ns / total : 0)]];
  const rows = blocks.slice(0, every ? blocks.length : FEW);
  fillTable(at("blocks"), columns, rows);
  at("blocks").closest("section").hidden = !blocks.length;
  at("more").hidden = rows.length === blocks.length;
  at("more").textContent = `Show all ${number(blocks.length)}`;
  at("more").onclick = () => {
    fillBlocks(true);
    at("blocks").parentElement.focus();
  };
  at("graph").replaceChildren(...(blocks.length
    ? [flow(blocks, colorOfName)] : []));
}
const POLICY_COLUMNS = [["For", (e) => e.site], ["Choice", (e) => e.choice, true],
  ["Why", (e) => e.reason || "-", true], ["Gain", (e) => e.gain || "-", true],
  ["Locks here", (e) => e.found]];
const SITES = { variable: "variable", created: "created in", used: "first used in" };
function fillPolicy() {
  at("policy").hidden = !data.policy;
  if (!data.policy) return;
  const { default: all, entries, file } = data.policy, here = data.policyOf[current];
  const others = ["omp_barrier", "omp_lock", "omp_wait"].filter((key) => all[key])
    .map((key) => `${spaced(key)} ${all[key]}`);
  const rows = [{ ...all, site: "every other lock", found: "-",
    choice: [choice(all), ...others].filter(Boolean).join(", ") || "as it was" }];
  entries.forEach((entry, index) => {
    const key = Object.keys(SITES).find((site) => entry[site]);
    rows.push({ ...entry, site: `${SITES[key]} ${entry[key]}`, choice: choice(entry),
      found: number(here.filter((each) => each === index).length) });
  });
  at("policy-title").textContent = `Policy ${file}`;
  fillTable(at("choices"), POLICY_COLUMNS, rows);
}
/* One of the worst locks in sentences. */
function finding({ called, members, declared, cost, gain, why, do: acts, reasons, predictions,
  seen }) {
  const sure = new Map(reasons.map((reason) => [reason.why, reason.sure]));
  const lines = [...(gain ? [["gain", gain]] : []),
    ...why.map((text) => ["why", text + (sure.has(text) ? ` (${sure.get(text)})` : "")]),
    ...acts.map((text) => ["do", text]),
    ...(declared ? [["declared at", declared]] : []),
    ...predictions.map((each) => ["if", `${each.label}: ${each.gain.toFixed(2)}x as many ` +
      `sections a second (${each.low.toFixed(2)} to ${each.high.toFixed(2)}) with ` +
      `${several(each.threads, "thread")}, simulated on ${each.machine}` +
      (each.assumes ? `, if ${each.assumes}` : "")])];
  return element("div", { className: "finding" },
    element("b", { textContent: called + (members > 1 ? ` x${number(members)}` : "") }),
    element("span", { textContent: `: ${cost}` }),
    element("ul", {}, ...lines.map(([title, text]) =>
      element("li", { textContent: `${title}: ${text}` }))),
    soft(seen));
}
function fillHeader(record) {
  const process = record.process;
  document.title = `Syncopate: ${process.command.join(" ")}`;
  at("command").textContent = process.command.join(" ");
  at("about").textContent = `process ${process.id}, ${data.ran_with[current]}, started ` +
    process.started.replace("T", " ").replace("+00:00", " UTC") +
    `, ${data.processors[current]}`;
  at("costs").replaceChildren(...data.costs[current].map((cost) => soft(cost)));
  at("findings").replaceChildren(...record.findings.map(finding));
  at("findings").hidden = !record.findings.length;
  at("notes").replaceChildren(...[...data.open[current], ...record.notes].map((note) =>
    element("div", { className: "note", textContent: note })));
  const whose = process.only_openmp ? "time of these threads" : "thread time";
  const cards = [[`of all ${whose} lost to locks`, percent(record.lost_share)],
    ["lost to locks", duration(record.lost_ns)],
    [`${whose} in all`, duration(record.thread_time_ns)],
    [process.only_openmp ? "threads that met OpenMP's calls" : "threads",
      howMany(process, record.threads.length)], [process.cut_short ? "recorded for" : "ran",
      duration(process.duration_ns)]];
  at("cards").replaceChildren(...cards.map(([what, value]) =>
    element("div", { className: "card" }, element("b", { textContent: value }),
      soft(what, "span"))));
}
function show(index) {
  current = index;
  const record = data.records[index];
  fillHeader(record);
  const kinds = [...new Set(record.locks.map((lock) => lock.object))];
  const choices = [["lost", "locks"], ["all", "everything"], ...kinds.map((k) => [k, k])];
  at("kind").replaceChildren(...choices.map(([value, textContent]) =>
    element("option", { value, textContent })));
  at("kind").value = record.lost_ns ? "lost" : "all";
  fillTransactions(record.transactions);
  fillPolicy();
  prepareTimeline();
  fillLocks();
  draw();
  fillBlocks();
}
/* All processes: their tree, and the locks that several of them have. */
const PROCESS_COLUMNS = [
  ["Program", (p) => "\u2003".repeat(p.depth) + p.command.join(" "), true],
  ["Process", (p) => String(p.id)], ["Threads", (p) => howMany(p, p.threads)],
  ["Ran", (p) => (p.duration_ns ? duration(p.duration_ns) : "-")],
  ["Lost to locks", (p) => duration(p.lost_ns)],
  ["Of its time", (p) => percent(p.lost_share)], ["Worst lock", (p) => p.worst || "-", true]];
const MOST_NAMES = 3; // of one lock, beside that which most was lost under
function named(l) {
  if (!l.shared.length) return l.called;
  const more = l.also_called.length - MOST_NAMES;
  return [l.called, ...l.also_called.slice(0, MOST_NAMES),
    ...(more > 0 ? [`${number(more)} more`] : [])].join(" = ");
}
const inMemory = (l) => (!l.shared.length ? (l.in_memory === "own" ? "each its own" : "-")
  : l.members > 1 ? `shared, ${number(l.members)} locks` : "shared");
const SHARED_COLUMNS = [["Lock", named, true], ["In memory", inMemory, true],
  ["Processes", (l) => number(l.processes)],
  ["Lost", (l) => duration(l.lost_ns)], ["Of all time", (l) => percent(l.lost_share)],
  ["Taken", (l) => l.acquisitions
    ? number(l.acquisitions) + (l.counted_in_part ? "+" : "") : "-"]];
function fillTree(choose) {
  const { count, tree, locks, quiet, lost_ns, lost_share, thread_time_ns } = data.processes;
  at("tree").hidden = tree.length < 2;
  if (tree.length < 2) return;
  const others = quiet ? ` (${number(quiet)} more, forked, came to nothing that is recorded)` : "";
  const have = `process${count === 1 ? "" : "es"} with a record`;
  at("tree-lost").textContent = `${number(count)} ${have}${others}, lost to locks: ` +
    `${percent(lost_share)} of all thread time (${duration(lost_ns)} of ` +
    `${duration(thread_time_ns)})`;
  fillTable(at("processes"), PROCESS_COLUMNS, tree);
  [...at("processes").tBodies[0].rows].forEach((row, index) => {
    const [cell] = row.cells;
    const button = element("button", { type: "button", className: "process",
      textContent: cell.textContent });
    button.onclick = () => choose(tree[index].record);
    cell.replaceChildren(button);
  });
  const shared = locks.filter((lock) => lock.processes > 1);
  if (shared.length)
    at("shared-locks").append(newTable("The same locks in several processes", SHARED_COLUMNS,
      shared));
}
at("kind").onchange = at("filter").oninput = fillLocks;
if (data.records.length > 1) {
  at("records").hidden = false;
  const select = at("records").querySelector("select");
  data.records.forEach((record, index) => select.append(element("option", { value: index,
    textContent: `${record.process.id} ${record.process.command.join(" ").slice(0, 60)}` })));
  select.onchange = () => show(Number(select.value));
  fillTree((index) => {
    select.value = String(index);
    show(index);
    at("command").scrollIntoView();
  });
}
wireTheme(() => view && draw());
makeLockTable();
wireTimeline();
wireFlame();
show(0);
window.addEventListener("hashchange", followLink);
followLink();
