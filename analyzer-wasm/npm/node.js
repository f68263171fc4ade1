// Node: the module is read from beside this file.
import { readFile } from "node:fs/promises";
import { load } from "./analysis.js";

export { analyze, analyzeJson, limit, version } from "./analysis.js";
export { explain } from "./explain.js";
export { KeyholeError } from "./guard.js";

export async function init(source) {
  return load(source ?? (await readFile(new URL("./analyzer_bg.wasm", import.meta.url))));
}
