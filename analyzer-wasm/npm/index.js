// Browsers, workers, bundlers: the module is fetched from beside this file.
import { load } from "./analysis.js";

export { analyze, analyzeJson, limit, version } from "./analysis.js";
export { explain } from "./explain.js";
export { KeyholeError } from "./guard.js";

export function init(source = new URL("./analyzer_bg.wasm", import.meta.url)) {
  return load(source);
}
