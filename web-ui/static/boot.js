import init from "./ui/web_ui.js";

try {
  await init({ module_or_path: new URL("./ui/web_ui_bg.wasm", import.meta.url) });
} catch (error) {
  const line = document.getElementById("loading");
  if (line) line.textContent = `The page's program could not be started: ${error.message}`;
  throw error;
}

// Without it (a page that is not served securely) only offline use is lost.
navigator.serviceWorker?.register("sw.js").catch(() => {});
