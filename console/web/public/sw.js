// The worker of this browser. It keeps the files of the page, so that pages open while the server is slow or away, and shows
// the notifications that the server pushes while no page is open. It keeps no answer of the API.

/** The files of this build, and its version; the build writes both here. */
const [build, files] = ["", []];
const { scope } = registration;
const prefix = `harness ${scope} `;
/** The first parts of the addresses that are pages of the console (App.tsx has them). Another one is the server's, as a link that decides. */
const pages = ["", "sessions", "login", "manage", "s", "inbox", "jobs", "events", "usage", "extensions", "runtimes", "settings"];
/** How long the server may take to answer with a page before the kept one is shown, in ms. */
const patience = 300;

/** keep stores all files of this build, the page last: a page that is kept has all of its files. */
async function keep() {
  if (build === "" || (await caches.match(scope, { cacheName: prefix + build }))) return;
  const read = async (url, options) => {
    const answer = await fetch(url, options);
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    return answer;
  };
  const page = await read(scope, { headers: { Accept: "text/html" }, cache: "no-store" });
  const named = [...(await page.clone().text()).matchAll(/"\.\/(assets\/[^"]*)"/g)];
  if (named.length === 0 || named.some(([, name]) => !files.includes(name))) throw new Error("the server has another build");
  const cache = await caches.open(prefix + build);
  await Promise.all(files.map(async (name) => cache.put(new URL(name, scope).href, await read(new URL(name, scope).href))));
  await cache.put(scope, page);
}

/** opened is the server's page, or the kept one when that is late. */
async function opened(request) {
  const kept = await caches.match(scope, { cacheName: prefix + build });
  if (!kept) return fetch(request);
  const late = new Promise((done) => setTimeout(done, patience));
  const answer = await Promise.race([fetch(request).catch(() => null), late]);
  return answer && answer.status < 500 ? answer : kept;
}

self.addEventListener("install", (event) => event.waitUntil(keep().then(() => skipWaiting())));

// Pages that are open belong to the build before, and still load from it.
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  const builds = (await caches.keys()).filter((name) => name.startsWith(prefix));
  await Promise.all(builds.slice(0, -2).map((name) => caches.delete(name)));
  await clients.claim();
})()));

self.addEventListener("message", (event) => event.waitUntil(event.data === "keep" ? keep() : Promise.resolve()));

self.addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  if (method !== "GET" || !url.startsWith(scope)) return;
  const [first] = url.slice(scope.length).split(/[/?#]/, 1);
  if (mode === "navigate" && pages.includes(first)) event.respondWith(opened(event.request));
  if (first === "assets" || first === "first.css") event.respondWith(caches.match(url, { ignoreVary: true }).then((kept) => kept ?? fetch(event.request)));
});

const kinds = { "approval.waiting": "request", "question.waiting": "request", "turn.ended": "ended", "turn.failed": "failed" };

self.addEventListener("push", (event) => event.waitUntil((async () => {
  const { kind, sessionId = "", title, text } = event.data.json();
  const path = kind === "job.failed" ? "jobs" : `s/${encodeURIComponent(sessionId)}`;
  const windows = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (windows.some((one) => one.focused && one.url === new URL(path, registration.scope).href)) return; // it is looked at
  // An open page shows the same notification with the same tag: one replaces the other.
  await registration.showNotification(title || "Harness", { body: text, tag: `${kinds[kind] ?? kind}-${sessionId}`, icon: "icon.svg", data: { path } });
})()));

self.addEventListener("notificationclick", (event) => event.waitUntil((async () => {
  event.notification.close();
  const { path } = event.notification.data;
  const [open] = await clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!open) return void (await clients.openWindow(new URL(path, registration.scope).href));
  open.postMessage({ go: `/${path}` });
  await open.focus();
})()));
