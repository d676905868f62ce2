// Perfetto's trace processor on Node: `node trace_processor.mjs FOLDER TRACE SQL` prints the rows of
// an answer as JSON. FOLDER has trace_processor.wasm, the glue that loads it and the engine that
// speaks to it, as ui.perfetto.dev runs them in a worker of a browser; this stands in for the worker.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const [folder, trace, query] = process.argv.slice(2);
const CHUNK = 1 << 20, PATIENCE = 60_000; // bytes; milliseconds
const { EngineBase } = await import(pathToFileURL(resolve(folder, "engine.mjs")).href);

// What a worker has and Node has not, and how the glue gets at the module's bytes.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = { href: pathToFileURL(resolve(folder)).href + "/" };
globalThis.moduleBytes = new Uint8Array(readFileSync(join(folder, "trace_processor.wasm")));
let glue = readFileSync(join(folder, "engine_bundle.node.js"), "utf8");
for (const [from, to] of [
  ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
  ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.moduleBytes,"],
  ["const wasmBridge = new wasm_bridge_1.WasmBridge();",
    "const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();"],
]) {
  if (!glue.includes(from)) throw new Error(`the glue has no "${from}"`);
  glue = glue.replace(from, to);
}
vm.runInThisContext(glue);

class Engine extends EngineBase {
  id = "test";
  mode = "WASM";
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = ({ data }) => data instanceof Uint8Array && this.onRpcResponseBytes(data);
  }
  rpcSendRequestBytes(bytes) {
    this.port.postMessage(bytes);
  }
}

const { port1, port2 } = new MessageChannel();
globalThis.bridge.initialize(port1);
const engine = new Engine(port2);
setTimeout(() => {
  console.error("no answer");
  process.exit(1);
}, PATIENCE);
await new Promise((done) => setTimeout(done, 1000)); // the module begins to run by itself
const bytes = new Uint8Array(readFileSync(trace));
for (let at = 0; at < bytes.length; at += CHUNK) await engine.parse(bytes.subarray(at, at + CHUNK));
await engine.notifyEof();
const answer = await engine.query(query), rows = [];
for (const row = answer.iter({}); row.valid(); row.next())
  rows.push(Object.fromEntries(answer.columns().map((name) => [name, row.get(name)])));
console.log(JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
process.exit(0);
