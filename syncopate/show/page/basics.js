/* What every page of ours needs: the data, elements, numbers as people read them, the theme. */
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const LOST = ["mutex", "mutex_relock", "read", "write", "spinlock", "trylock", "semaphore_lock",
  "futex_lock"];
const COLORS = ["#2f7ed8", "#e07b00", "#1a9e77", "#c2417c", "#8a63d2", "#b8860b", "#4aa3b5",
  "#d0453b"];
const OTHER = "#8b949e";

function element(tag, options, ...children) {
  const made = Object.assign(document.createElement(tag), options);
  made.append(...children);
  return made;
}
const soft = (textContent, tag = "div") => element(tag, { className: "soft", textContent });
function duration(ns) {
  if (ns === null || ns === undefined) return "-";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (ns >= size * 0.9995) {
      const value = ns / size;
      return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + " " + unit;
    }
  return Math.round(ns) + " ns";
}
function percent(share) {
  if (share && share < 0.001) return "<0.1 %";
  return share >= 0.9995 && share < 1 ? ">99.9 %" : (share * 100).toFixed(1) + " %";
}
const number = (n) => n.toLocaleString("en-US");
const several = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;
const howMany = (of, threads) => number(threads) + (of.more_threads ? "+" : "");
const spaced = (name) => name.replaceAll("_", " ");

/* Columns are [title, text of a row, left-aligned]. */
function fillTable(table, columns, rows) {
  const style = (text) => (text ? "text" : "");
  table.tHead.replaceChildren(element("tr", {}, ...columns.map(([textContent, , text]) =>
    element("th", { scope: "col", textContent, className: style(text) }))));
  table.tBodies[0].replaceChildren(...rows.map((row) => element("tr", {},
    ...columns.map(([, of, text]) =>
      element("td", { textContent: of(row), className: style(text),
        title: text ? of(row) : "" })))));
  return table;
}
function newTable(title, columns, rows) {
  const table = element("table", {}, element("caption", { textContent: title }),
    element("thead"), element("tbody"));
  return element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: title },
    fillTable(table, columns, rows));
}

function frameList(frames, wrappers) {
  const list = element("ol");
  for (const [depth, frame] of frames.entries()) {
    const file = frame.file || frame.module;
    const place = file.split("/").pop() + (frame.file && frame.line ? ":" + frame.line : "");
    const line = element("li", { title: file }, frame.function + " ", soft(place, "span"));
    if (depth < wrappers) line.className = "soft";
    if (frame.inlined)
      line.append(" ", element("span", { className: "inlined", textContent: "inlined" }));
    list.append(line);
  }
  if (!frames.length) list.append(soft("(no stack)", "li"));
  return list;
}
function stackList(title, stacks) {
  const box = element("div", {}, element("h3", { textContent: title }));
  if (!stacks.length) box.append(soft("Not sampled.", "p"));
  for (const stack of stacks)
    box.append(element("div", { className: "stack" },
      element("strong", { textContent: percent(stack.share) + " " }),
      soft(duration(stack.ns), "span"), frameList(stack.frames, stack.wrapper_frames)));
  return box;
}

/* The reader's theme; the button changes it, and `changed` draws anew what CSS does not color. */
function wireTheme(changed) {
  const dark = () => document.documentElement.dataset.theme === "dark";
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    at("theme").textContent = dark() ? "Light" : "Dark";
    changed();
  };
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  wanted.onchange = () => set(wanted.matches ? "dark" : "light");
  at("theme").onclick = () => set(dark() ? "light" : "dark");
  wanted.onchange();
}
