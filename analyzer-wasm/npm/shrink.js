// Browsers, workers, bundlers: the module is fetched from beside this file.
import { load } from "./shrinking.js";

export { KeyholeError } from "./guard.js";
export { shrink } from "./shrinking.js";

export function init(source = new URL("./reproducer_bg.wasm", import.meta.url)) {
  return load(source);
}
