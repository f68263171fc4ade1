import type { ModuleSource } from "./index.js";

export { KeyholeError } from "./index.js";

/**
 * Loads the module that cuts reproducers, once; it is not the analyzer's.
 * Without a source it is found beside this package's files.
 */
export function init(source?: ModuleSource | Promise<ModuleSource>): Promise<WebAssembly.Module>;

/** A reproducer. */
export interface Reproducer {
  /** A small ELF file that gives the same report. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Members of the report that differ all the same; usually none. */
  differences: string[];
}

/** Cuts a reproducer, to attach to a bug report. */
export function shrink(bytes: Uint8Array | ArrayBuffer): Reproducer;
