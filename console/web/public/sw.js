// Shows the notifications that the server pushes to this browser while no page is open. It fetches nothing and stores nothing.
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
