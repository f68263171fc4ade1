// The analyzer's functions, wherever its module comes from.
import * as glue from "./analyzer.js";
import { guard } from "./guard.js";

const { load, guarded, over } = guard(glue);

export { load };

export const analyze = (bytes, options) => over(bytes, (file) => glue.analyze(file, options));

export const analyzeJson = (bytes, options) =>
  over(bytes, (file) => glue.analyzeJson(file, options));

export const version = () => guarded(() => glue.version());

export const limit = () => guarded(() => glue.limit());
