// The worker that analyzes. It reads the file itself, so that the page never
// holds its bytes, and it is the only part of the page that loads the
// analyzer: the same npm package that other tools embed, without its pages.

import { analyzeJson, limit, load } from "./analyzer/analysis.js";
import { KeyholeError } from "./analyzer/guard.js";

// A libpython is read at once, which is quickest. What is larger than any is
// read in pieces, so that progress can be told.
const AT_ONCE = 64 * 1024 * 1024;
const PIECE = 16 * 1024 * 1024;

let started;

onmessage = async ({ data }) => {
  if (data.task === "start") {
    started = load(data.module ?? new URL("./analyzer/analyzer_bg.wasm", import.meta.url));
    started.then(
      (module) => {
        postMessage({ kind: "ready", module });
        if (!data.module) warm();
      },
      () => {}, // told to the first request
    );
    return;
  }
  const { request, name } = data;
  const say = (kind, rest, transfer = []) => postMessage({ kind, request, ...rest }, transfer);
  try {
    await started.catch((error) => {
      throw new KeyholeError("not-loaded", `The analyzer could not be loaded. ${error.message}`);
    });
    const begin = performance.now();
    const bytes = await read(data, (done, total) => say("progress", { done, total }));
    say("analyzing");
    const middle = performance.now();
    if (data.task === "report") {
      const json = analyzeJson(bytes, { path: name });
      const end = performance.now();
      say("report", { json, readMs: middle - begin, analyzeMs: end - middle });
    } else {
      const small = (await shrinking())(bytes);
      say("reproducer", small, [small.bytes.buffer]);
    }
  } catch (error) {
    const code = error instanceof KeyholeError ? error.code : "worker";
    say("failed", { code, message: error.message });
  }
};

// What cuts reproducers has a module of its own, loaded when it is asked for.
async function shrinking() {
  const { load, shrink } = await import("./analyzer/shrinking.js");
  await load(new URL("./analyzer/reproducer_bg.wasm", import.meta.url));
  return shrink;
}

// Makes the module's memory as large as a libpython needs, before the first
// file comes: the system hands out the pages slowly.
function warm() {
  try {
    analyzeJson(new Uint8Array(40 * 1024 * 1024));
  } catch {
    // Where there is no memory, the first file will tell.
  }
}

async function read({ file, buffer }, progress) {
  if (buffer) return new Uint8Array(buffer);
  if (file.size > limit()) {
    throw new KeyholeError("too-large", `The file has ${file.size} bytes; the limit is ${limit()}.`);
  }
  try {
    if (file.size <= AT_ONCE) return new Uint8Array(await file.arrayBuffer());
    const bytes = new Uint8Array(file.size);
    for (let start = 0; start < file.size; start += PIECE) {
      progress(start, file.size);
      const piece = file.slice(start, start + PIECE);
      bytes.set(new Uint8Array(await piece.arrayBuffer()), start);
    }
    return bytes;
  } catch (error) {
    if (error instanceof RangeError) {
      throw new KeyholeError("out-of-memory", `No memory for a file of ${file.size} bytes.`);
    }
    throw new KeyholeError("unreadable", `The browser cannot read the file. ${error.message}`);
  }
}
