// Typed errors around the generated glue, and a fresh instance after a panic.

export class KeyholeError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "KeyholeError";
    this.code = code;
  }
}

// An instance that held a larger file is replaced: WebAssembly memory never
// shrinks.
const LARGE = 64 * 1024 * 1024;

// What the functions of one module are called through.
export function guard(glue) {
  let loaded;

  async function load(source) {
    loaded ??= compile(await source).then((module) => {
      glue.initSync({ module });
      return module;
    });
    try {
      return await loaded;
    } catch (error) {
      loaded = undefined;
      throw new KeyholeError("not-loaded", `the analyzer cannot be loaded: ${error.message}`, {
        cause: error,
      });
    }
  }

  function guarded(call) {
    try {
      return call();
    } catch (error) {
      const cause = { cause: error };
      if (error instanceof WebAssembly.RuntimeError) {
        glue.__wbg_reset_state();
        throw new KeyholeError("trap", error.message, cause);
      }
      if (error?.code === "panic") glue.__wbg_reset_state();
      if (typeof error?.code === "string") {
        throw new KeyholeError(error.code, error.message, cause);
      }
      // The glue before initSync has no instance.
      throw new KeyholeError("not-loaded", "await init() first", cause);
    }
  }

  function over(bytes, call) {
    const file = view(bytes);
    const result = guarded(() => call(file));
    if (file.length > LARGE) glue.__wbg_reset_state();
    return result;
  }

  return { load, guarded, over };
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return WebAssembly.compile(source);
  }
  const response = source instanceof Response ? source : await fetch(source);
  if (!response.ok) throw new Error(`${response.url}: status ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

function view(bytes) {
  if (bytes instanceof Uint8Array) return bytes;
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  throw new KeyholeError("wrong-argument", "the file must be a Uint8Array or an ArrayBuffer");
}
