/* The timeline: one row a thread, drawn on a canvas; wheel or + - zooms, drag or arrows move. */
const ROW = 22, AXIS = 26, LABEL = 150;
let spans = [], colors = new Map(), threads = [];
function prepareTimeline() {
  const record = data.records[current], line = data.timelines[current];
  const sums = new Map();
  spans = line.rows.map(([thread, start, length, name, kind]) => {
    const span = { thread, start, length, name: line.names[name], lost: LOST.includes(kind), kind };
    sums.set(span.name, (sums.get(span.name) || 0) + length * (span.lost ? 1000 : 1));
    return span;
  });
  const ranked = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  colors = new Map(ranked.map((name, index) => [name, COLORS[index] || OTHER]));
  const seen = new Set(spans.map((span) => span.thread));
  threads = record.threads.filter((thread) => seen.has(thread.index));
  const end = Math.max(1, record.process.duration_ns / 1000);
  view = { from: 0, to: end, end };
  at("legend").replaceChildren(...ranked.slice(0, COLORS.length).map((name) => {
    const item = element("span", { textContent: name });
    item.style.setProperty("--swatch", colors.get(name));
    return item;
  }));
  if (ranked.length > COLORS.length) {
    const item = element("span", { textContent: `${ranked.length - COLORS.length} others` });
    item.style.setProperty("--swatch", OTHER);
    at("legend").append(item);
  }
  const part = line.total > spans.length
    ? `The ${number(spans.length)} longest of ${number(line.total)}` +
      " sampled waits." : `${number(spans.length)} sampled waits.`;
  at("timeline-help").textContent = part +
    " Wheel or + and - to zoom, drag or arrow keys to move, double-click or 0 for everything." +
    " Pale: not lost to a lock.";
}
/* Of a lock, and of one whose name alone is known, as in who blocks whom: several may have it. */
const colorOf = ({ name, object }) =>
  colors.get(object === "mutex" ? name : `${name} (${object})`) || OTHER;
function colorOfName(name) {
  const named = data.records[current].locks.filter((lock) => lock.name === name);
  return colorOf(named.find((lock) => lock.lost_ns) || named[0] || { name, object: "mutex" });
}
function draw() {
  const canvas = at("timeline"), scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = AXIS + ROW * Math.max(1, threads.length);
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const paint = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
  paint.scale(scale, scale);
  paint.font = "12px ui-monospace, monospace";
  paint.textBaseline = "middle";
  const x = (time) => LABEL + ((time - view.from) / (view.to - view.from)) * (width - LABEL);
  const [ink, line] = [css.getPropertyValue("--soft"), css.getPropertyValue("--line")];
  const rough = (view.to - view.from) / Math.max(2, (width - LABEL) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    paint.fillStyle = line;
    paint.fillRect(x(t), AXIS - 6, 1, height);
    paint.fillStyle = ink;
    paint.fillText(duration(t * 1000), Math.min(x(t) + 3, width - 60), 9);
  }
  const rows = new Map(threads.map((thread, index) => [thread.index, index]));
  threads.forEach((thread, index) => {
    paint.fillStyle = line;
    paint.fillRect(0, AXIS + ROW * index, width, 1);
    paint.fillStyle = ink;
    paint.fillText(thread.label.slice(0, 20), 0, AXIS + ROW * (index + 0.5));
  });
  paint.save();
  paint.beginPath();
  paint.rect(LABEL, AXIS, width - LABEL, height);
  paint.clip();
  for (const span of spans) {
    if (span.start > view.to || span.start + span.length < view.from) continue;
    const left = x(span.start);
    paint.globalAlpha = span.lost ? 0.95 : 0.22;
    paint.fillStyle = colors.get(span.name);
    paint.fillRect(left, AXIS + ROW * rows.get(span.thread) + 4,
      Math.max(1, x(span.start + span.length) - left), ROW - 7);
  }
  paint.restore();
}
function zoom(factor, center) {
  const mid = center ?? (view.from + view.to) / 2;
  const length = Math.min(view.end, Math.max(1, (view.to - view.from) * factor));
  const share = (mid - view.from) / (view.to - view.from);
  move(mid - share * length, length);
}
function move(from, length = view.to - view.from) {
  view.from = Math.max(0, Math.min(from, view.end - length));
  view.to = view.from + length;
  draw();
}
function timeAt(event) {
  const box = at("timeline").getBoundingClientRect();
  return view.from + (Math.max(0, event.clientX - box.left - LABEL) / (box.width - LABEL)) *
    (view.to - view.from);
}
function tip(event) {
  const box = at("timeline").getBoundingClientRect();
  const thread = threads[Math.floor((event.clientY - box.top - AXIS) / ROW)];
  const time = timeAt(event), slack = (view.to - view.from) / (box.width - LABEL);
  const hit = thread && event.clientX - box.left > LABEL && spans.find((span) =>
    span.thread === thread.index && span.start - slack <= time &&
    span.start + span.length + slack >= time);
  at("tip").style.display = hit ? "block" : "none";
  if (!hit) return;
  at("tip").textContent = `${thread.label}: ${hit.kind.replace("_", " ")} of ${hit.name}, ` +
    `${duration(hit.length * 1000)} at ${duration(hit.start * 1000)}`;
  at("tip").style.left = Math.min(event.clientX + 14, innerWidth - 380) + "px";
  at("tip").style.top = event.clientY + 16 + "px";
}
function wireTimeline() {
  const canvas = at("timeline");
  let grip = null;
  canvas.addEventListener("wheel", (event) => {
    if (!event.deltaY) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });
  canvas.onpointerdown = (event) => {
    grip = { x: event.clientX, from: view.from };
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointerup = () => (grip = null);
  canvas.onpointermove = (event) => {
    if (!grip) return tip(event);
    const pixels = canvas.clientWidth - LABEL;
    move(grip.from - ((event.clientX - grip.x) / pixels) * (view.to - view.from));
  };
  canvas.onpointerleave = () => (at("tip").style.display = "none");
  canvas.ondblclick = () => move(0, view.end);
  canvas.onkeydown = (event) => {
    const length = view.to - view.from;
    const keys = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4),
      0: () => move(0, view.end), ArrowLeft: () => move(view.from - length / 8),
      ArrowRight: () => move(view.from + length / 8) };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  window.addEventListener("resize", draw);
}
