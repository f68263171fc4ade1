// Browsers, workers, bundlers: the module is fetched from beside this file.
import { load } from "./guard.js";

export { explain } from "./explain.js";
export { KeyholeError, analyze, analyzeJson, limit, shrink, version } from "./guard.js";

export function init(source = new URL("./analyzer_bg.wasm", import.meta.url)) {
  return load(source);
}
