/* Graphs that libraries draw: who made whom wait (d3-sankey), stacks of waits (d3-flame-graph). */

/* Waiters on the left, holders on the right, ribbons as thick as the time. */
const MOST_NODES = 12, MANY_THREADS = 12, GRAPH_WIDE = 760, NODE = 8, GAP = 12, NAME = 190;
const pool = (label) => label.replace(/\/\d+$/, "").replace(/\d+$/, "") || label;
function flow(blocks, colorOf) {
  const labels = new Set(blocks.flatMap((block) => [block.waiter, block.holder]));
  const named = labels.size > MANY_THREADS ? pool : (label) => label;
  const sides = { waiter: heaviest(blocks, "waiter", named),
    holder: heaviest(blocks, "holder", named) };
  const rows = Math.max(sides.waiter.length, sides.holder.length), high = Math.max(70, rows * 28);
  const nodeOf = (side, label) =>
    `${side} ${sides[side].includes(named(label)) ? named(label) : REST}`;
  const sums = d3.rollups(blocks, (some) => d3.sum(some, ({ ns }) => ns),
    (b) => nodeOf("waiter", b.waiter), (b) => nodeOf("holder", b.holder), (b) => b.lock);
  const links = sums.flatMap(([source, targets]) => targets.flatMap(([target, locks]) =>
    locks.map(([lock, value]) => ({ source, target, lock, value }))))
    .sort((a, b) => b.value - a.value);
  const ids = new Set(links.flatMap(({ source, target }) => [source, target]));
  const place = d3.sankey().nodeId(({ id }) => id).nodeWidth(NODE).nodePadding(GAP)
    .nodeSort((a, b) => b.value - a.value).linkSort((a, b) => b.value - a.value)
    .extent([[NAME - NODE, 4], [GRAPH_WIDE - NAME + NODE, high]]);
  const placed = place({ links, nodes: [...ids].map((id) =>
    ({ id, left: id.startsWith("waiter "), name: id.slice(7) })) });
  const told = ({ source, target, lock, value }) =>
    `${source.name} waited ${duration(value)} for ${target.name}, which held ${lock}`;
  const graph = d3.create("svg").attr("viewBox", `0 0 ${GRAPH_WIDE} ${high + 12}`)
    .attr("class", "chart").attr("role", "img").attr("aria-label", `Who made whom wait: ` +
      `${several(links.length, "link")}; the heaviest: ${told(placed.links[0])}.`);
  graph.selectAll("path").data(placed.links).join("path").attr("class", "ribbon")
    .attr("d", d3.sankeyLinkHorizontal()).attr("stroke", ({ lock }) => colorOf(lock))
    .attr("stroke-width", ({ width }) => Math.max(1, width)).append("title").text(told);
  graph.selectAll("rect").data(placed.nodes).join("rect").attr("class", "node")
    .attr("x", ({ x0 }) => x0).attr("y", ({ y0 }) => y0).attr("width", NODE)
    .attr("height", ({ y0, y1 }) => Math.max(1.5, y1 - y0));
  graph.selectAll("text").data(placed.nodes).join("text")
    .attr("class", ({ left }) => (left ? "end" : ""))
    .attr("x", ({ left, x0, x1 }) => (left ? x0 - 6 : x1 + 6))
    .attr("y", ({ y0, y1 }) => (y0 + y1) / 2 + 4)
    .text(({ name, value }) => `${name.slice(0, 20)} ${duration(value)}`);
  return graph.node();
}
const REST = "others";
/* The names that have most of the time. */
function heaviest(blocks, side, named) {
  const ranked = d3.rollups(blocks, (some) => d3.sum(some, ({ ns }) => ns),
    (block) => named(block[side])).sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return ranked.slice(0, ranked.length > MOST_NODES ? MOST_NODES - 1 : MOST_NODES);
}

/* The stacks of the locks that the table has: who called whom downwards, the lock at the end. */
const MOST_STACKS = 5000, CELL = 18, THINNEST = 0.7; // pixels
const TELLING = 0.001; // of the time shown: what is left out
let flamed = [], flames = null;
function fillFlame(locks) {
  flamed = locks;
  drawFlame();
}
/* The time of all stacks of a lock, of which the report tells those that have most. */
function whole(stacks) {
  const [ns, share] = stacks.reduce(([x, y], each) => [x + each.ns, y + each.share], [0, 0]);
  return share ? ns / share : 0;
}
function flameTree(side) {
  const all = flamed.flatMap((lock) => lock[side].map((stack) => ({ lock, stack })))
    .filter(({ stack }) => stack.ns > 0).sort((a, b) => b.stack.ns - a.stack.ns);
  const taken = all.slice(0, MOST_STACKS);
  const root = { name: "all", value: 0, children: [] }, below = new Map([[root, new Map()]]);
  for (const { lock, stack } of taken) {
    const names = stack.frames.map((frame) => frame.function).reverse();
    let node = root;
    node.value += stack.ns;
    for (const name of [...(names.length ? names : ["(no stack)"]), null]) {
      const known = below.get(node), key = name ?? lock;
      if (!known.has(key)) {
        const made = { name: name ?? `[${lockName(lock)}]`, value: 0, children: [],
          color: name === null ? colorOf(lock) : "" };
        node.children.push(made);
        known.set(key, made);
        below.set(made, new Map());
      }
      node = known.get(key);
      node.value += stack.ns;
    }
  }
  return { root, left: flamed.reduce((sum, lock) => sum + whole(lock[side]), 0) - root.value };
}
function drawFlame() {
  const side = at("side").value, { root, left } = flameTree(side), box = at("flame");
  flames = null;
  at("found").textContent = "";
  if (!root.value) {
    box.replaceChildren(soft("No stack was sampled for these locks."));
    at("flame-help").textContent = "";
    return;
  }
  const share = ({ data }) => `${duration(data.value)}, ${percent(data.value / root.value)}`;
  flames = flamegraph.default().width(Math.max(300, box.clientWidth)).cellHeight(CELL)
    .inverted(true).transitionDuration(0).minFrameSize(THINNEST).resetHeightOnZoom(true)
    .sort((a, b) => b.data.value - a.data.value)
    .setLabelHandler((node) => `${node.data.name}: ${share(node)}`)
    .setColorMapper((node, color) => (node.highlight ? color : node.data.color || color))
    .setSearchMatch(({ data }, text) => data.name.toLowerCase().includes(text.toLowerCase()))
    .setSearchHandler((nodes, sum, all) => {
      at("found").textContent = `${number(nodes.length)} found, in ${duration(sum)} of ` +
        duration(all);
    });
  box.replaceChildren();
  d3.select(box).datum(root).call(flames);
  const most = d3.hierarchy(root).leaves().reduce((a, b) => (b.data.value > a.data.value ? b : a));
  const path = most.ancestors().reverse().slice(1).map(({ data }) => data.name);
  d3.select(box).select("svg").attr("role", "img").attr("aria-label",
    `Stacks of ${side === "waiters" ? "waits" : "holds meanwhile"}, ` +
    `${duration(root.value)}; the longest part, ${share(most)}: ${path.join(" > ")}`);
  at("flame-help").textContent = "As wide as the time waited; outermost functions on top, locks " +
    "at the ends, of those locks that the table above shows. Click to see a part alone." +
    (left > TELLING * root.value
      ? ` Stacks that have less of a lock's time, ${duration(left)} in all, are left out.` : "");
  findInFlame();
}
function findInFlame() {
  const text = at("find").value;
  if (!flames) return;
  if (text) return flames.search(text);
  flames.clear();
  at("found").textContent = "";
}
function wireFlame() {
  at("side").onchange = drawFlame;
  at("find").oninput = findInFlame;
  at("whole").onclick = () => flames?.resetZoom();
  let width = at("flame").clientWidth;
  window.addEventListener("resize", () => {
    if (at("flame").clientWidth === width) return;
    width = at("flame").clientWidth;
    drawFlame();
  });
}
