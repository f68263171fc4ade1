import type { Report } from "./report.js";

export type * from "./report.js";

/** Why there is no answer. */
export type ErrorCode =
  /** `init()` has not finished, or the module cannot be loaded. */
  | "not-loaded"
  /** The file is no `Uint8Array` or `ArrayBuffer`. */
  | "wrong-argument"
  /** The file is larger than `limit()`; nothing was copied. */
  | "too-large"
  /** There is no memory for the file. */
  | "out-of-memory"
  /** No reproducer can be cut from this file. */
  | "no-reproducer"
  /** A bug in the analyzer; the message has its text. The instance was replaced. */
  | "panic"
  /** A bug in the analyzer without a text. The instance was replaced. */
  | "trap";

/** What every function here throws. */
export class KeyholeError extends Error {
  constructor(code: ErrorCode | (string & {}), message: string, options?: ErrorOptions);
  readonly code: ErrorCode | (string & {});
}

/** What an analysis may be told. */
export interface AnalyzeOptions {
  /** The file's name, for the report. */
  path?: string;
  /** Record every instruction looked at; true unless it is false. */
  trace?: boolean;
}

/** Where the WebAssembly module is. */
export type ModuleSource = WebAssembly.Module | BufferSource | Response | URL | string;

/**
 * Loads the module, once. Without a source it is found beside this package's
 * files. Resolves to the compiled module, which another worker can be given.
 */
export function init(source?: ModuleSource | Promise<ModuleSource>): Promise<WebAssembly.Module>;

/**
 * Analyzes one file. Never throws because of what the file holds: the report
 * says what it is. The file is copied once. Numbers beyond 2^53, which only
 * damaged files have, lose bits here and not in `analyzeJson`.
 */
export function analyze(bytes: Uint8Array | ArrayBuffer, options?: AnalyzeOptions): Report;

/** The same report as JSON text, every number exact. */
export function analyzeJson(bytes: Uint8Array | ArrayBuffer, options?: AnalyzeOptions): string;

/** A diagnosis's page as Markdown; `undefined` for an unknown code. Needs no `init()`. */
export function explain(code: string): string | undefined;

/** This package's version. */
export function version(): string;

/** Largest file taken, in bytes. */
export function limit(): number;
