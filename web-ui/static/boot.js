import init from "./ui/web_ui.js";

try {
  await init();
} catch (error) {
  const line = document.getElementById("loading");
  if (line) line.textContent = `The page's program could not be started: ${error.message}`;
  throw error;
}
