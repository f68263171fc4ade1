// Every Python of this machine: the page says what the command line says.
import assert from "node:assert/strict";
import { basename } from "node:path";
import { statSync } from "node:fs";
import { test } from "node:test";
import { LARGEST, PYTHONS, assertQuiet, choose, clipboard, copiedMarkdown, downloaded, drop, inspect, inspectAs, open, ready, verdict } from "./page.mjs";

test("every Python of this machine", async (t) => {
  assert.ok(PYTHONS.length > 0, "there is no Python on this machine");
  const opened = await open(t);
  const { page } = opened;
  await ready(opened);
  for (const path of PYTHONS) {
    await t.test(path, async () => {
      const expected = inspect(path);
      await page.goto("about:blank");
      await ready(opened);
      await choose(page, path);
      const shown = await verdict(page, basename(path));
      const words = { not_python: "not Python", not_elf: "not ELF" };
      assert.equal(shown.status, words[expected.status] ?? expected.status);
      const said = inspectAs("markdown", path);
      assert.ok(said.includes(`: ${shown.headline.replaceAll("_", "\\_")}`), `${shown.headline} is not in ${said}`);
      // Where the library of a launcher lies, only the command line can see.
      if (expected.status !== "launcher") assert.ok((await copiedMarkdown(page)).startsWith(said));
      const { bytes } = await downloaded(page, "Download JSON");
      const report = JSON.parse(bytes.toString());
      if (expected.status === "launcher") {
        for (const { diagnoses } of [expected, report]) {
          delete diagnoses.find(({ code }) => code === "launcher").remedy;
        }
      }
      assert.deepEqual(report, expected);
      await page.getByRole("button", { name: "Copy link" }).click();
      await page.locator(".said", { hasText: "Link copied" }).waitFor();
      const link = await clipboard(page);
      assert.ok(link.length <= 30_200, `a link of ${link.length} characters`);
      await page.goto("about:blank");
      await page.goto(link);
      assert.deepEqual(await verdict(page, basename(path)), { ...shown, timing: null });
    });
  }
  assertQuiet(opened);
});

test("from drop to verdict, the largest Python", async (t) => {
  const { size } = statSync(LARGEST);
  const opened = await open(t);
  const { page } = opened;
  const times = [];
  for (let round = 0; round < 7; round += 1) {
    await page.goto("about:blank");
    await ready(opened);
    // The worker has loaded its module: the state a person's first drop finds.
    await page.waitForTimeout(500);
    await drop(page, LARGEST);
    const { timing } = await verdict(page, basename(LARGEST));
    times.push({ total: Number.parseFloat(timing), timing });
  }
  times.sort((a, b) => a.total - b.total);
  t.diagnostic(`${basename(LARGEST)}, ${size} bytes: median ${times[3].timing}; best ${times[0].timing}`);
  // A stop for what would be a real regression; the figure is what counts.
  assert.ok(times[0].total < 1500, `the best of seven took ${times[0].total} ms`);
});
