// Node: worker threads, Atomics.wait with timeout, and libuv's pool through the file system.
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const fs = require('fs');

const THREADS = 4, STEPS = 5000;

function count(words) {  // words: 0 lock, 1 counter, 2 sum, 3 next item
  for (let i = 0; i < STEPS; ++i) {
    while (Atomics.compareExchange(words, 0, 0, 1) !== 0) Atomics.wait(words, 0, 1, 10);
    words[1] += 1;
    Atomics.store(words, 0, 0);
    Atomics.notify(words, 0, 1);
  }
  for (let item; (item = Atomics.add(words, 3, 1)) < 1000;) Atomics.add(words, 2, item);
}

async function main() {
  const words = new Int32Array(new SharedArrayBuffer(16));
  const startWorker = () => new Worker(__filename, { workerData: words });
  const workers = Array.from({ length: THREADS }, startWorker);
  await Promise.all(workers.map((worker) => new Promise((resolve, reject) => {
    worker.on('exit', resolve);
    worker.on('error', reject);
  })));
  const sizes = await Promise.all(Array.from({ length: 64 }, () => fs.promises.stat(__filename)));
  const still = new Int32Array(new SharedArrayBuffer(4));
  const start = process.hrtime.bigint();
  const timed = Atomics.wait(still, 0, 0, 50) === 'timed-out';
  const good = timed && process.hrtime.bigint() - start >= 45_000_000n
      && sizes.every((each) => each.size === sizes[0].size);
  console.log(`counter=${words[1]} sum=${words[2]} waits=${good ? 'right' : 'wrong'}`);
}

if (isMainThread) main(); else { count(workerData); parentPort.close(); }
