// Keeps the page's files, so that the page works without a network once it
// has been loaded. With a network the files always come from there.

const CACHE = `keyhole ${registration.scope}`;

addEventListener("install", (event) => event.waitUntil(fill()));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const own = event.request.url.startsWith(registration.scope);
  if (own && event.request.method === "GET") event.respondWith(answer(event.request));
});

async function fill() {
  const files = await (await fetch("files.json")).json();
  const cache = await caches.open(CACHE);
  await cache.addAll(["./", ...files]);
}

async function answer(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
