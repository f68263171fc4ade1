// The page itself: keyboard, themes, sizes, offline, first paint, panics.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { KEYHOLE, LARGEST, PROVOKED, SITE, assertQuiet, axe, choose, drop, inspect, open, openExample, overflow, ready, shot, verdict } from "./page.mjs";

// Every state the page can be in, by name.
const STATES = {
  start: async () => {},
  "key-in-rbp": (page) => openExample(page, 0),
  "offset-first": (page) => openExample(page, 1),
  healthy: (page) => openExample(page, 2),
  "thread-local": (page) => openExample(page, 3),
  real: async (page) => {
    await choose(page, LARGEST);
    await page.locator("#verdict").waitFor({ timeout: 60_000 });
  },
  "not-elf": async (page) => {
    await choose(page, { name: "archive.zip", mimeType: "application/zip", buffer: Buffer.from("504b030414000000", "hex") });
    await page.locator("#verdict").waitFor();
  },
  compare: async (page) => {
    await openExample(page, 2);
    await openExample(page, 0);
    await verdict(page, "libpython3.12-no-lto.so");
    await page.getByRole("button", { name: "Compare" }).first().click();
    await page.locator("h2", { hasText: "side by side" }).waitFor();
  },
  help: async (page) => {
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
  },
};

for (const theme of ["light", "dark"]) {
  for (const [width, height] of [[360, 740], [1280, 900], [2560, 1440]]) {
    test(`accessible and in its bounds: ${theme}, ${width} px`, async (t) => {
      const opened = await open(t, { theme, width, height });
      const { page } = opened;
      for (const [name, reach] of Object.entries(STATES)) {
        await t.test(name, async () => {
          await page.goto("about:blank");
          await ready(opened);
          await reach(page);
          await shot(page, `${name}-${theme}-${width}`);
          assert.deepEqual(await axe(page), []);
          assert.ok((await overflow(page)) <= 0, `wider than the window by ${await overflow(page)} px`);
        });
      }
      assertQuiet(opened);
    });
  }
}

test("the switch overrides the system and is remembered", async (t) => {
  const opened = await open(t, { theme: "light" });
  const { page } = opened;
  await ready(opened);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole("radio", { name: "Dark" }).check({ force: true });
  const dark = await ground();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await ground(), dark);
  await page.getByRole("radio", { name: "System" }).check({ force: true });
  assert.equal(await ground(), light);
  assertQuiet(opened);
});

test("by keyboard alone", async (t) => {
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
  for (let presses = 0; !(await focused()).startsWith("Key kept in rbp"); presses += 1) {
    assert.ok(presses < 30, "the example cannot be reached with Tab");
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.locator("#verdict").waitFor();
  assert.match(await page.locator(".visually-hidden[role=status]").innerText(), /pthread key/i);

  await page.keyboard.press("c");
  assert.equal(await page.evaluate(() => document.activeElement.id), "code");
  const inRow = () => page.evaluate(() => document.activeElement.closest(".row")?.querySelector(".ins")?.textContent);
  for (let presses = 0; (await inRow()) === undefined; presses += 1) {
    assert.ok(presses < 20, "the listing cannot be reached with Tab");
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Home");
  const steps = inspect(join(SITE, "examples/libpython3.12-no-lto.so")).strategies[0].trace;
  const path = steps.filter((step) => step.on_path);
  assert.ok(path.length > 3);
  // The focus follows in the next frame.
  const reach = (text) =>
    page.waitForFunction(
      (text) => document.activeElement.closest(".row")?.querySelector(".ins")?.textContent === text,
      text,
      { timeout: 5000 },
    );
  await reach(path[0].text);
  for (const step of path.slice(1)) {
    await page.keyboard.press("n");
    await reach(step.text);
  }
  for (const step of path.slice(0, -1).reverse()) {
    await page.keyboard.press("p");
    await reach(step.text);
  }
  await page.keyboard.press("ArrowDown");
  await reach(steps[1].text);
  await page.keyboard.press("s");
  await reach(steps.find((step) => step.role === "sink").text);
  assert.equal(await page.locator(".row.chosen.sink").count(), 1);
  const told = steps.find((step) => step.text.startsWith("lea rbp"));
  await page.keyboard.press("Home");
  await reach(steps[0].text);
  for (const step of steps.slice(1, steps.indexOf(told) + 1)) {
    await page.keyboard.press("ArrowDown");
    await reach(step.text);
  }
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.classList.contains("value")), true);
  assert.match(await page.locator(".inspector").innerText(), /Where it came from/);
  assert.ok((await page.locator(".row.lit").count()) >= 2);

  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" }).catch(() => {});
  assert.equal(await page.locator("dialog[open]").count(), 0);
  for (const [key, id] of [["v", "verdict"], ["d", "diagnoses"], ["t", "take"]]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
  }
  assertQuiet(opened);
});

test("works with the network cut once it is loaded", async (t) => {
  const opened = await open(t);
  const { page, context, server } = opened;
  await ready(opened);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(async () => {
    const names = await (await fetch("files.json")).json();
    const kept = await Promise.all(names.map((name) => caches.match(name)));
    return kept.every(Boolean);
  });
  await context.setOffline(true);
  server.close();
  await openExample(page, 0);
  // Cancels, which starts a new worker.
  await drop(page, LARGEST);
  await page.keyboard.press("Escape");
  await openExample(page, 1);
  await page.reload();
  await openExample(page, 2);
  assert.equal(await page.locator("#verdict").getAttribute("data-status"), "resolved");
});

test("the first paint does not wait for WebAssembly", async (t) => {
  const opened = await open(t, { serviceWorkers: "block" });
  const { page, url } = opened;
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/*.wasm", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(url, { waitUntil: "commit" });
  await page.locator("h1", { hasText: "Keyhole" }).waitFor();
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  t.diagnostic(`first contentful paint after ${paint.toFixed(0)} ms, WebAssembly held back`);
  assert.equal(await page.locator(".example").count(), 0);
  release();
  await page.locator(".example").first().waitFor();
});

test("a panic is said, and the next file works", async (t) => {
  const opened = await open(t, { serviceWorkers: "block" });
  const { page } = opened;
  for (const name of ["analyzer.js", "analyzer_bg.wasm"]) {
    await opened.context.route(`**/analyzer/${name}`, (route) =>
      route.fulfill({
        body: readFileSync(join(PROVOKED, name)),
        contentType: name.endsWith(".js") ? "text/javascript" : "application/wasm",
      }),
    );
  }
  await ready(opened);
  await choose(page, { name: "bad.so", mimeType: "", buffer: Buffer.from("PANIC") });
  const card = page.locator(".failure");
  await card.waitFor();
  assert.match(await card.innerText(), /provoked[\s\S]*bug in Keyhole/);
  await openExample(page, 0);
  assert.equal(await page.locator("#verdict").getAttribute("data-status"), "resolved");
  assertQuiet(opened);
});

test("keyhole serve", async (t) => {
  const server = spawn(KEYHOLE, ["serve", "--port", "0", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => server.kill());
  const url = await new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (part) => {
      text += part;
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(text);
      if (found) resolve(found[0]);
    });
    server.on("exit", (code) => reject(new Error(`keyhole serve ended with ${code}: ${text}`)));
  });
  const response = await fetch(url);
  assert.match(response.headers.get("content-security-policy"), /frame-ancestors 'none'/);
  assert.equal(await response.text(), readFileSync(join(SITE, "index.html"), "utf8"));
  assert.equal((await fetch(`${url}nothing`)).status, 404);
  const opened = await open(t);
  await ready({ ...opened, url }, url);
  await openExample(opened.page, 0);
  assert.equal(await opened.page.locator("#verdict").getAttribute("data-status"), "resolved");
  assertQuiet({ ...opened, url });
});
