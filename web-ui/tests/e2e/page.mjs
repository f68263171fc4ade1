// The browser, the page, and what the tests ask of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { serveSite } from "./server.mjs";

const need = (name) => {
  const value = process.env[name];
  assert.ok(value, `${name} is not set; run the tests with: cargo xtask e2e`);
  return value;
};

export const SITE = need("KEYHOLE_SITE");
export const KEYHOLE = need("KEYHOLE_BIN");
export const PACKAGE = need("KEYHOLE_PACKAGE");
export const PROVOKED = need("KEYHOLE_PROVOKED");
export const PYTHONS = need("KEYHOLE_PYTHONS").split("\n").filter(Boolean);
const size = (path) => statSync(path).size;
// Programs that only speak of Python may be larger.
export const LARGEST = PYTHONS.filter((path) => basename(path).includes("python")).reduce(
  (a, b) => (size(b) > size(a) ? b : a),
);
export const SCRATCH = need("KEYHOLE_SCRATCH");
const require = createRequire(join(need("KEYHOLE_NODE"), "package.json"));
const { chromium } = require("playwright-core");
const AXE = require.resolve("axe-core/axe.min.js");

// A path with depth, so that every test also shows that the page does not
// mind where it lives.
const BASE = "/some/where/below/";

export async function open(t, options = {}) {
  const { theme = "light", width = 1280, height = 900, base = BASE, ...rest } = options;
  const server = await serveSite(SITE, base);
  const browser = await chromium.launch({
    executablePath: need("KEYHOLE_CHROMIUM"),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
    ...rest,
  });
  const page = await context.newPage();
  const complaints = [];
  const requests = [];
  page.on("console", (message) => {
    // Where a test blocks the service worker, Playwright says so on the console.
    if (message.text().includes("blocked by Playwright")) return;
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  context.on("request", (request) => requests.push(request.url()));
  t.after(async () => {
    await browser.close();
    server.close();
  });
  return { page, context, browser, server, url: server.url, complaints, requests };
}

export async function ready(opened, url = opened.url) {
  await opened.page.goto(url);
  await opened.page.locator(".drop .example").first().waitFor();
}

// The page has said nothing wrong and asked for nothing but its own files.
export function assertQuiet({ complaints, requests, url }) {
  assert.deepEqual(complaints, []);
  const own = new Set(siteFiles().map((name) => url + name));
  own.add(url);
  const foreign = requests.filter(
    (request) => !request.startsWith("blob:") && !own.has(request.split("#")[0]),
  );
  assert.deepEqual(foreign, []);
}

function siteFiles(folder = SITE) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? siteFiles(path) : [relative(SITE, path)];
  });
}

export const choose = (page, files) => page.locator("#file-input").setInputFiles(files);

// Drops files as a user does, the browser's own handles and not copies; one
// drop for each argument, the next as soon as the page has seen the one before.
export async function drop(page, ...drops) {
  for (const files of drops) {
    await page.evaluate(() => {
      const input = document.createElement("input");
      input.type = "file";
      input.multiple = true;
      input.className = "hand";
      input.setAttribute("aria-label", "test");
      document.body.append(input);
    });
    await page.locator(".hand").last().setInputFiles(files);
  }
  await page.evaluate(async () => {
    for (const input of document.querySelectorAll(".hand")) {
      const dataTransfer = new DataTransfer();
      for (const file of input.files) dataTransfer.items.add(file);
      input.remove();
      for (const type of ["dragenter", "dragover", "drop"]) {
        document.body.dispatchEvent(
          new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
        );
      }
      await new Promise((resolve) => setTimeout(resolve));
    }
  });
}

// Waits for the verdict on a file and returns its status and sentence.
export async function verdict(page, name) {
  const section = page.locator("#verdict").filter({ has: page.locator(".file-name", { hasText: name }) });
  await section.waitFor({ timeout: 60_000 });
  return {
    status: await section.getAttribute("data-status"),
    seal: (await section.locator(".seal").innerText()).trim(),
    headline: await section.locator("h2").innerText(),
    timing: (await section.locator(".timing").count())
      ? await section.locator(".timing").innerText()
      : null,
  };
}

export async function openExample(page, index) {
  await page.locator(".drop .example").nth(index).click();
  await page.locator("#verdict").waitFor();
}

// The report as the page hands it out.
export async function downloaded(page, button) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button }).click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

// The report as the command line gives it, for the same name.
export function inspect(path, ...more) {
  return JSON.parse(inspectAs("json", path, "--trace", ...more));
}

// What the command line says of a file, in a format.
export function inspectAs(format, path, ...more) {
  return run(KEYHOLE, ["inspect", "--format", format, basename(path), ...more], dirname(path));
}

// What is copied when the page is asked for Markdown.
export async function copiedMarkdown(page) {
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  await page.locator(".said", { hasText: "Markdown copied" }).waitFor();
  return clipboard(page);
}

export function clipboard(page) {
  return page.evaluate(() => navigator.clipboard.readText());
}

function run(program, args, cwd) {
  try {
    return execFileSync(program, args, { cwd, encoding: "utf8", maxBuffer: 1 << 28 });
  } catch (error) {
    // Status 1 is an answer: not every file is resolved.
    if (error.status === 1) return error.stdout;
    throw error;
  }
}

export async function axe(page) {
  await page.evaluate(readFileSync(AXE, "utf8"));
  const result = await page.evaluate(() =>
    globalThis.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }),
  );
  return result.violations.map(
    (violation) =>
      `${violation.id}: ${violation.help}: ${violation.nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)} ${node.any.map((check) => check.message)}`)
        .join(" | ")}`,
  );
}

export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

export async function shot(page, name) {
  const folder = join(SCRATCH, "shots");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
