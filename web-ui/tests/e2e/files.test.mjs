// What people drop: examples, wrong files, many files, two in a row.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, openSync, readFileSync, ftruncateSync, closeSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { LARGEST, SCRATCH, SITE, assertQuiet, choose, clipboard, copiedMarkdown, downloaded, drop, inspect, inspectAs, open, openExample, ready, verdict } from "./page.mjs";

const scratch = (name, bytes) => {
  const folder = join(SCRATCH, "files");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};

test("the examples show what they promise", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  const promises = [
    { place: "_PyRuntime + 0x60c", fails: 1, why: "waits in a callee-saved register" },
    { place: "_PyRuntime + 0x254", fails: 1, why: "offset is loaded before its base" },
    { place: "_PyRuntime + 0x254", fails: 0 },
    { place: "_PyRuntime + 0x874", fails: 0, why: "lies in a shared library" },
  ];
  for (const [index, { place, fails, why }] of promises.entries()) {
    await page.goto("about:blank");
    await ready(opened);
    await openExample(page, index);
    assert.equal(await page.locator("#verdict").getAttribute("data-status"), "resolved");
    assert.ok((await page.locator("#verdict h2").innerText()).includes(place));
    assert.equal(await page.locator("#diagnoses h3", { hasText: why }).count(), why ? 1 : 0);
    await page.getByRole("button", { name: "To the sink" }).click();
    assert.ok((await page.locator(".row.chosen").innerText()).includes("the answer is consumed here"));
    const first = page.locator(".baseline").filter({ hasText: /first write/i });
    assert.equal(await first.filter({ hasText: /finds nothing|answers wrongly/ }).count(), fails);
    if (fails) {
      await first.locator(".jump").click();
      const at = (await first.locator(".jump code").first().innerText()).trim();
      await page.locator(".row.chosen .at").filter({ hasText: at }).waitFor();
      assert.ok(await page.evaluate(() => document.activeElement.closest(".row.chosen") !== null));
      assert.ok((await page.locator(".row.chosen .flag").innerText()).includes("First write"));
    }
  }
  assertQuiet(opened);
});

test("wrong files get a diagnosis", async (t) => {
  const elf = readFileSync(join(SITE, "examples/libpython3.11-debian12.so"));
  const changed = (...changes) => {
    const copy = Buffer.from(elf);
    for (const [at, byte] of changes) copy[at] = byte;
    return copy;
  };
  const files = {
    "empty.so": Buffer.alloc(0),
    "notes.txt": "not a library\n",
    "script.py": "#!/usr/bin/env python3\nprint(1)\n",
    "archive.zip": Buffer.from("504b0304140000000000", "hex"),
    "packed.gz": gzipSync(elf),
    "windows.dll": Buffer.concat([Buffer.from("MZ"), Buffer.alloc(200)]),
    "mac.dylib": Buffer.concat([Buffer.from("cffaedfe", "hex"), Buffer.alloc(200)]),
    "class32.so": changed([4, 1]),
    "big-endian.so": changed([5, 2]),
    "riscv.so": changed([18, 243]),
    "cut.so": elf.subarray(0, Math.floor(elf.length / 3)),
    "head.so": elf.subarray(0, 20),
    // An object file has no program headers.
    "object.o": changed([16, 1], [32, 0], [54, 0], [56, 0]),
    "noise.bin": Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 2654435761) & 255)),
  };
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  for (const [name, bytes] of Object.entries(files)) {
    await t.test(name, async () => {
      const path = scratch(name, bytes);
      await drop(page, path);
      const shown = await verdict(page, name);
      const expected = inspect(path);
      const words = { not_python: "not Python", not_elf: "not ELF" };
      assert.equal(shown.status, words[expected.status] ?? expected.status);
      assert.notEqual(shown.status, "resolved");
      assert.ok(shown.headline.length > 10);
      assert.equal(await page.locator(".diagnosis").count(), expected.diagnoses.length);
      assert.ok(expected.diagnoses.length > 0, "the command line has no diagnosis either");
      assert.equal(await page.locator(".progress").count(), 0);
    });
  }
  assertQuiet(opened);
});

test("a file over the limit is refused at once", async (t) => {
  const path = join(SCRATCH, "huge.so");
  const file = openSync(path, "w");
  ftruncateSync(file, 512 * 1024 * 1024 + 1);
  closeSync(file);
  const opened = await open(t);
  await ready(opened);
  await choose(opened.page, path);
  const card = opened.page.locator(".failure");
  await card.waitFor({ timeout: 10_000 });
  assert.match(await card.innerText(), /limit is 536870912/);
  // The page goes on.
  await openExample(opened.page, 0);
  assertQuiet(opened);
});

test("progress is told of a large file, and it can be cancelled", async (t) => {
  const path = join(SCRATCH, "large.so");
  const file = openSync(path, "w");
  ftruncateSync(file, 500 * 1024 * 1024);
  closeSync(file);
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  await drop(page, path);
  await page.locator(".progress progress[value]").waitFor();
  await page.locator(".progress").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator(".progress").count(), 0);
  await openExample(page, 0);
  assertQuiet(opened);
});

test("the second drop wins", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  const small = scratch("second.txt", "the second file\n");
  await drop(page, LARGEST, small);
  assert.equal((await verdict(page, "second.txt")).status, "not ELF");
  await page.waitForTimeout(1500);
  assert.equal((await verdict(page, "second.txt")).status, "not ELF");
  assert.equal(await page.locator(".file").count(), 0, "the cancelled file is not in the list");
  assertQuiet(opened);
});

test("several files and a directory", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  const folder = join(SCRATCH, "several");
  mkdirSync(join(folder, "below"), { recursive: true });
  const examples = ["libpython3.12-no-lto.so", "libpython3.11-debian12.so"];
  copyFileSync(join(SITE, "examples", examples[0]), join(folder, examples[0]));
  copyFileSync(join(SITE, "examples", examples[1]), join(folder, "below", examples[1]));
  writeFileSync(join(folder, "below", "readme.txt"), "text");
  await page.locator("input[webkitdirectory]").setInputFiles(folder);
  await page.locator(".file").nth(1).waitFor();
  await page.locator(".note", { hasText: "1 files were passed over" }).waitFor();
  for (const name of examples) {
    await page.locator(".file", { hasText: name }).click();
    assert.equal((await verdict(page, name)).status, "resolved");
  }
  assertQuiet(opened);
});

test("pasted files", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["PK\u0003\u0004 and so on"], "pasted.zip"));
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  });
  assert.equal((await verdict(page, "pasted.zip")).status, "not ELF");
  assertQuiet(opened);
});

test("compare two files", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  await openExample(page, 2);
  await openExample(page, 0);
  await verdict(page, "libpython3.12-no-lto.so");
  await page.locator("li", { hasText: "libpython3.11-debian12.so" }).getByRole("button", { name: "Compare" }).click();
  await page.locator("h2", { hasText: "side by side" }).waitFor();
  assert.ok((await page.locator("table.compare tr.differs").count()) > 3);
  const version = page.locator("table.compare tr", { hasText: /^\W*(Different: )?Version\b/ }).first();
  assert.match(await version.innerText(), /3\.12[\s\S]*3\.11/);
  assert.ok((await page.locator("table.listings tr.left, table.listings tr.right").count()) > 0);
  await page.getByRole("button", { name: "Back to one file" }).click();
  await verdict(page, "libpython3.12-no-lto.so");
  assertQuiet(opened);
});

test("take it with you", async (t) => {
  const opened = await open(t);
  const { page, context } = opened;
  await ready(opened);
  await openExample(page, 0);

  const markdown = await copiedMarkdown(page);
  const example = join(SITE, "examples/libpython3.12-no-lto.so");
  assert.ok(markdown.startsWith(inspectAs("markdown", example)), markdown);
  assert.match(markdown, /<details><summary>Trace of .*▸ 0x/s);
  const expected = inspect(example);
  assert.ok(expected.diagnoses.length > 0);
  for (const { code } of expected.diagnoses) assert.ok(markdown.includes(`(\`${code}\`)`), code);
  const json = await downloaded(page, "Download JSON");
  assert.equal(json.name, "libpython3.12-no-lto.so.keyhole.json");
  assert.deepEqual(JSON.parse(json.bytes.toString()), expected);

  const small = await downloaded(page, "Download reproducer");
  const path = scratch(small.name, small.bytes);
  assert.deepEqual(inspect(path).routes, expected.routes);
  assert.equal(inspect(path).file.reproducer, true);

  await page.getByRole("button", { name: "Copy link" }).click();
  await page.locator(".said", { hasText: "Link copied" }).waitFor();
  const link = await clipboard(page);
  assert.match(link, /#report=1\./);
  const other = await context.newPage();
  await other.goto(link);
  const shown = await verdict(other, "libpython3.12-no-lto.so");
  assert.equal(shown.status, "resolved");
  assert.equal(await other.getByRole("button", { name: "Download reproducer" }).count(), 0);
  const again = await downloaded(other, "Download JSON");
  assert.deepEqual(JSON.parse(again.bytes.toString()), expected);

  await page.getByLabel("Leave out the file's name and build id").check();
  const nameless = await downloaded(page, "Download JSON");
  assert.equal(JSON.parse(nameless.bytes.toString()).file.path, "");
  assertQuiet(opened);
});

test("broken links are said to be broken", async (t) => {
  const opened = await open(t);
  const { page, url } = opened;
  for (const fragment of ["#report=1.!!!", "#report=1.AAAA", "#report=1.q1YqLk", "#report=1."]) {
    await page.goto("about:blank");
    await page.goto(url + fragment);
    await page.locator(".failure").waitFor();
    assert.match(await page.locator(".failure").innerText(), /cannot be read/);
  }
  assertQuiet(opened);
});
