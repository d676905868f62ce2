/* What became of transactions: sites, conflicts, unsafe calls. */
const CONFLICT_STACKS = 20; // of the most frequent conflicts; the others are in the data
const size = (set) => (set ? `${set.mean.toFixed(1)} (most ${number(set.max)})` : "-");
const told = (counts) => Object.entries(counts).filter(([, n]) => n)
  .map(([name, n]) => `${spaced(name)} ${number(n)}`).join(", ") || "-";
const WHAT = { program: "a call", algorithm: "what the algorithm cannot roll back" };
const SITE_COLUMNS = [["Transaction", (s) => s.name], ["Started", (s) => number(s.started)],
  ["Committed", (s) => number(s.committed)], ["Canceled", (s) => number(s.canceled)],
  ["Retries", (s) => number(s.retries)], ["Read set", (s) => size(s.read_set)],
  ["Write set", (s) => size(s.write_set)], ["Ran", (s) => duration(s.run_ns)],
  ["Alone", (s) => duration(s.alone_ns)], ["Wasted", (s) => duration(s.wasted_ns)],
  ["Waited", (s) => duration(s.waited_ns)], ["Aborts", (s) => told(s.aborts), true],
  ["Ran alone", (s) => told(s.alone), true]];
const CONFLICT_COLUMNS = [["Transaction", (c) => c.loser], ["Address", (c) => c.address, true],
  ["Winner", (c) => c.winner || "unknown", true],
  ["Cause", (c) => spaced(c.cause), true], ["Times", (c) => number(c.times)]];
function fillTransactions(transactions) {
  at("transactions").hidden = !transactions;
  if (!transactions) return;
  const sites = transactions.sites;
  at("transactions-title").textContent = `Transactions by ${transactions.algorithm}`;
  fillTable(at("sites"), SITE_COLUMNS, sites);
  const conflicts = sites.flatMap((s) => s.conflicts.map((c) => ({ loser: s.name, ...c })));
  fillTable(at("conflicts"), CONFLICT_COLUMNS, conflicts.sort((a, b) => b.times - a.times));
  at("conflict-stacks").replaceChildren(...conflicts.filter((c) => c.stack.length)
    .slice(0, CONFLICT_STACKS).map((c) => element("div", { className: "stack" },
      element("strong", { textContent: `${c.address || "unknown"} in ${c.loser} ` }),
      soft(`lost to ${c.winner || "unknown"}, ${several(c.times, "time")}`, "span"),
      frameList(c.stack, 0))));
  at("unsafe").replaceChildren(...sites.flatMap((site) => site.unsafe_calls.map((call) =>
    element("div", { className: "stack" },
      element("strong", { textContent:
        `${call.function || WHAT[call.asked_by]} in ${site.name} ` }),
      soft(`${several(call.times, "time")}, ${number(call.switches)} began again`, "span"),
      frameList(call.stack, 0)))));
}
