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
