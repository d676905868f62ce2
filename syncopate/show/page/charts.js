/* Charts as SVG. Each has a label that says in words what it shows; colors come from the theme. */
function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
function chart(width, height, label, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
    class: "chart" }, ...children);
}

/* A distribution of times on a logarithmic axis. `series`: {label, style, buckets, byTime}, where
   buckets are [from ns, to ns, count]; bars are shares of a series, so that two can be compared:
   of the counts, or with byTime of the time that they add up to. */
const WIDE = 420, HIGH = 120, FOOT = 18;
function distribution(title, series) {
  const told = series.filter((each) => each.buckets.length);
  const box = element("figure", {}, element("figcaption", { textContent: title }));
  if (!told.length) {
    box.append(soft("None."));
    return box;
  }
  const low = Math.max(1, Math.min(...told.map(({ buckets }) => buckets[0][0] || 1)));
  const high = Math.max(low * 2, ...told.map(({ buckets }) => buckets.at(-1)[1]));
  const x = (ns) => (Math.log(Math.max(ns, low) / low) / Math.log(high / low)) * WIDE;
  const top = Math.max(...told.flatMap(sharesOf));
  const parts = told.flatMap((each) => sharesOf(each).map((share, place) => {
    const [from, to] = each.buckets[place];
    const height = Math.max(1, (share / top) * (HIGH - FOOT - 4));
    return svg("rect", { x: x(from), width: Math.max(1.5, x(to) - x(from) - 0.5), height,
      y: HIGH - FOOT - height, class: each.style }, svg("title", {},
      `${each.label}: ${percent(share)} from ${duration(from)} to ${duration(to)}`));
  }));
  for (const mark of ticksBetween(low, high))
    parts.push(svg("line", { x1: x(mark), x2: x(mark), y1: HIGH - FOOT, y2: HIGH - FOOT + 4 }),
      svg("text", { x: Math.min(x(mark), WIDE - 30), y: HIGH - 2 }, duration(mark)));
  box.append(chart(WIDE, HIGH, [title, ...told.map(inWords)].join(". "), ...parts));
  if (told.length > 1)
    box.append(element("div", { className: "legend" }, ...told.map(({ label, style }) =>
      element("span", { className: style, textContent: label }))));
  return box;
}
function sharesOf({ buckets, byTime }) {
  const weights = buckets.map(([from, to, count]) => count * (byTime ? (from + to) / 2 : 1));
  const all = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  return weights.map((weight) => weight / all);
}
function ticksBetween(low, high) {
  const powers = [];
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power++)
    powers.push(10 ** power);
  const step = Math.ceil(powers.length / 6) || 1;
  const some = powers.filter((_, index) => index % step === 0);
  return some.length ? some : [low];
}
function inWords({ label, buckets, byTime }) {
  const shares = sharesOf({ buckets, byTime }), most = shares.indexOf(Math.max(...shares));
  const all = buckets.reduce((sum, [, , count]) => sum + count, 0);
  return `${label}: ${number(all)} from ${duration(buckets[0][0])} to ` +
    `${duration(buckets.at(-1)[1])}, most (${percent(shares[most])}) between ` +
    `${duration(buckets[most][0])} and ${duration(buckets[most][1])}`;
}

/* Who made whom wait: waiters on the left, holders on the right, ribbons as thick as the time. */
const MOST_NODES = 12, MANY_THREADS = 12, GRAPH_WIDE = 760, NODE = 8, GAP = 12, NAME = 190;
const pool = (label) => label.replace(/\/\d+$/, "").replace(/\d+$/, "") || label;
function flow(blocks, colorOf) {
  const labels = new Set(blocks.flatMap((block) => [block.waiter, block.holder]));
  const named = labels.size > MANY_THREADS ? pool : (label) => label;
  const sides = ["waiter", "holder"].map((side) => heaviest(blocks, (b) => named(b[side])));
  const total = blocks.reduce((sum, block) => sum + block.ns, 0);
  const rows = Math.max(...sides.map((side) => side.size));
  const high = Math.max(70, rows * 28), scale = (high - rows * GAP) / total;
  for (const side of sides) {
    let y = 4;
    for (const node of side.values()) {
      Object.assign(node, { y, used: 0 });
      y += node.ns * scale + GAP;
    }
  }
  const left = NAME, right = GRAPH_WIDE - NAME, mid = GRAPH_WIDE / 2;
  const links = merged(blocks, (b) => [nodeName(sides[0], named(b.waiter)),
    nodeName(sides[1], named(b.holder)), b.lock]);
  const ribbons = links.map(({ key: [waiter, holder, lock], ns }) => {
    const [from, to] = [sides[0].get(waiter), sides[1].get(holder)], thick = ns * scale;
    const [y1, y2] = [from, to].map((node) => node.y + node.used + thick / 2);
    from.used += thick;
    to.used += thick;
    return svg("path", { d: `M${left} ${y1}C${mid} ${y1} ${mid} ${y2} ${right} ${y2}`,
      "stroke-width": Math.max(1, thick), stroke: colorOf(lock), class: "ribbon" },
      svg("title", {}, `${waiter} waited ${duration(ns)} for ${holder}, which held ${lock}`));
  });
  const names = sides.flatMap((side, index) => [...side].flatMap(([name, node]) => [
    svg("rect", { x: index ? right : left - NODE, y: node.y, width: NODE, class: "node",
      height: Math.max(1.5, node.ns * scale) }),
    svg("text", { x: index ? right + NODE + 6 : left - NODE - 6, class: index ? "" : "end",
      y: node.y + (node.ns * scale) / 2 + 4 }, `${name.slice(0, 20)} ${duration(node.ns)}`)]));
  const [most] = links;
  const label = `Who made whom wait: ${links.length} links; the heaviest, ` +
    `${duration(most.ns)}: ${most.key[0]} waited for ${most.key[1]}, which held ${most.key[2]}.`;
  return chart(GRAPH_WIDE, high + 12, label, ...ribbons, ...names);
}
const REST = "others";
const nodeName = (side, name) => (side.has(name) ? name : REST);
function heaviest(blocks, nameOf) {
  const ranked = merged(blocks, (block) => [nameOf(block)]);
  const kept = ranked.length > MOST_NODES ? ranked.slice(0, MOST_NODES - 1) : ranked;
  const side = new Map(kept.map(({ key: [name], ns }) => [name, { ns }]));
  if (kept.length < ranked.length)
    side.set(REST, { ns: ranked.slice(kept.length).reduce((sum, { ns }) => sum + ns, 0) });
  return side;
}
/* Sums of blocks of one key, the largest first. */
function merged(blocks, keyOf) {
  const sums = new Map();
  for (const block of blocks) {
    const key = keyOf(block), text = JSON.stringify(key);
    if (!sums.has(text)) sums.set(text, { key, ns: 0 });
    sums.get(text).ns += block.ns;
  }
  return [...sums.values()].sort((a, b) => b.ns - a.ns);
}
