// What cuts reproducers, wherever its module comes from.
import { guard } from "./guard.js";
import * as glue from "./reproducer.js";

const { load, over } = guard(glue);

export { load };

export const shrink = (bytes) => over(bytes, (file) => glue.shrink(file));
