// The packed package, as somebody who installs it finds it: in Node, in a
// browser's worker, and for the type checker.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";

const need = (name) => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set; run the tests with: cargo xtask e2e`);
  return value;
};
const PACKAGE = need("KEYHOLE_PACKAGE");
const PROVOKED = need("KEYHOLE_PROVOKED");
const KEYHOLE = need("KEYHOLE_BIN");
// The largest is no launcher. Programs that only speak of Python may be larger.
const size = (path) => statSync(path).size;
const PYTHON = need("KEYHOLE_PYTHONS")
  .split("\n")
  .filter((path) => basename(path).includes("python"))
  .reduce((a, b) => (size(b) > size(a) ? b : a));
const NODE = need("KEYHOLE_NODE");
const require = createRequire(join(NODE, "package.json"));

// A project of its own with the packed tarball installed, without a network.
const project = join(need("KEYHOLE_SCRATCH"), "project");
mkdirSync(project, { recursive: true });
const tarball = execFileSync("npm", ["pack", "--silent", "--pack-destination", project], {
  cwd: PACKAGE,
  encoding: "utf8",
}).trim();
writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", `./${tarball}`], {
  cwd: project,
});
const installed = join(project, "node_modules/@keyhole/analyzer");
const module = await import(pathToFileURL(join(installed, "node.js")));
const { init: initShrink, shrink } = await import(pathToFileURL(join(installed, "shrink-node.js")));
const bytes = readFileSync(PYTHON);

const expected = JSON.parse(
  execFileSync(KEYHOLE, ["inspect", "--format", "json", "--trace", basename(PYTHON)], {
    cwd: dirname(PYTHON),
    encoding: "utf8",
    maxBuffer: 1 << 28,
  }),
);

test("before init every call says so", () => {
  assert.throws(() => module.version(), { name: "KeyholeError", code: "not-loaded" });
  assert.throws(() => shrink(bytes), { name: "KeyholeError", code: "not-loaded" });
});

test("in Node: the same report as the command line's", async () => {
  await module.init();
  assert.deepEqual(module.analyze(bytes, { path: basename(PYTHON) }), expected);
  assert.deepEqual(JSON.parse(module.analyzeJson(bytes, { path: basename(PYTHON) })), expected);
  const bare = module.analyze(bytes, { trace: false });
  assert.ok(bare.strategies.every((strategy) => strategy.trace.length === 0));
  assert.deepEqual(bare.routes, expected.routes);
  assert.equal(bare.file.path, "");
});

test("explain, version and shrink", async () => {
  assert.equal(module.version(), JSON.parse(readFileSync(join(installed, "package.json"))).version);
  assert.match(module.explain("not-elf"), /ELF/);
  assert.equal(module.explain("no-such-code"), undefined);
  await initShrink();
  const small = shrink(bytes);
  assert.ok(small.bytes.length < bytes.length / 4);
  assert.deepEqual(module.analyze(small.bytes).routes, expected.routes);
});

test("errors are typed", () => {
  assert.throws(() => module.analyze("text"), { code: "wrong-argument" });
  assert.throws(() => shrink(new Uint8Array(10)), { code: "no-reproducer" });
});

test("a file over the limit is refused before it is copied", () => {
  const huge = new Uint8Array(module.limit() + 1);
  const before = process.memoryUsage().rss;
  assert.throws(() => module.analyze(huge), { code: "too-large" });
  assert.ok(process.memoryUsage().rss - before < 64 << 20);
  assert.equal(module.analyze(new Uint8Array(4)).status, "not_elf");
});

test("large files in a row do not fill the memory", () => {
  const large = new Uint8Array(400 << 20);
  for (let round = 0; round < 12; round += 1) assert.equal(module.analyze(large).status, "not_elf");
});

test("a panic is a typed error, and the next call works", async () => {
  const glue = join(project, "provoked");
  mkdirSync(glue, { recursive: true });
  for (const name of ["analysis.js", "explain.js", "guard.js", "node.js", "pages.js"]) {
    writeFileSync(join(glue, name), readFileSync(join(installed, name)));
  }
  for (const name of ["analyzer.js", "analyzer_bg.wasm"]) {
    writeFileSync(join(glue, name), readFileSync(join(PROVOKED, name)));
  }
  const provoked = await import(pathToFileURL(join(glue, "node.js")));
  await provoked.init();
  const bad = new TextEncoder().encode("PANIC");
  for (let round = 0; round < 3; round += 1) {
    assert.throws(() => provoked.analyze(bad), { code: "panic", message: /provoked/ });
    assert.equal(provoked.analyze(bytes).status, expected.status);
  }
});

test("the types fit a real report", () => {
  const text = JSON.stringify(expected, null, 1);
  writeFileSync(
    join(project, "check.ts"),
    `import { analyze, explain, init, KeyholeError, type Report } from "@keyhole/analyzer";
import { shrink } from "@keyhole/analyzer/shrink";
const module: WebAssembly.Module = await init();
const bytes = new Uint8Array(4);
const report: Report = analyze(bytes, { path: "x", trace: true });
const key = report.routes.find((route) => route.kind === "pthread_key")?.key_address;
const address: \`0x\${string}\` | undefined = key;
const page: string | undefined = explain("not-elf");
const small: Uint8Array = shrink(bytes).bytes;
// @ts-expect-error There is no such option.
analyze(bytes, { paths: "x" });
// @ts-expect-error There is no such status.
if (report.status === "fine") throw new KeyholeError("panic", "");
export const real: Report = ${text};
console.log(module, address, page, small);
`,
  );
  writeFileSync(
    join(project, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        exactOptionalPropertyTypes: true,
        module: "nodenext",
        moduleResolution: "nodenext",
        target: "es2022",
        lib: ["es2022", "dom"],
        types: [],
      },
      files: ["check.ts"],
    }),
  );
  try {
    execFileSync(process.execPath, [join(NODE, "node_modules/typescript/bin/tsc"), "-p", project], { encoding: "utf8" });
  } catch (error) {
    assert.fail(error.stdout);
  }
});

test("in a browser's worker", async (t) => {
  const files = {
    "/": ["text/html", "<!doctype html><title>test</title><link rel='icon' href='data:,'>"],
    "/worker.js": [
      "text/javascript",
      `import { analyze, init } from "./package/index.js";
       await init();
       onmessage = ({ data }) => postMessage(analyze(data, { path: "x" }));
       postMessage("ready");`,
    ],
  };
  const server = createServer((request, response) => {
    const name = request.url.replace(/^\/package\//, "");
    const [type, body] = files[request.url] ?? [
      name.endsWith(".wasm") ? "application/wasm" : "text/javascript",
      readFileSync(join(installed, name)),
    ];
    response.writeHead(200, { "content-type": type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { chromium } = require("playwright-core");
  const browser = await chromium.launch({
    executablePath: need("KEYHOLE_CHROMIUM"),
    args: ["--no-sandbox", "--disable-gpu"],
  });
  t.after(async () => {
    await browser.close();
    server.close();
  });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const report = await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker("/worker.js", { type: "module" });
        worker.onerror = (event) => reject(new Error(event.message));
        worker.onmessage = ({ data }) => {
          if (data === "ready") worker.postMessage(new TextEncoder().encode("#!/bin/sh\n"));
          else resolve(data);
        };
      }),
  );
  assert.equal(report.schema, "keyhole.report/1");
  assert.equal(report.status, "not_elf");
});
