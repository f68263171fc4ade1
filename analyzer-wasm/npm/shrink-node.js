// Node: the module is read from beside this file.
import { readFile } from "node:fs/promises";
import { load } from "./shrinking.js";

export { KeyholeError } from "./guard.js";
export { shrink } from "./shrinking.js";

export async function init(source) {
  return load(source ?? (await readFile(new URL("./reproducer_bg.wasm", import.meta.url))));
}
