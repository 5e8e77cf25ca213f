import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { usePreferences } from "./preferences";

const can = () => "Notification" in window && isSecureContext;

/** beep is a short, soft tone, made here: pages fetch nothing. */
export function beep() {
  const audio = new AudioContext();
  const [tone, volume] = [audio.createOscillator(), audio.createGain()];
  tone.frequency.value = 660;
  volume.gain.setValueAtTime(0.08, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.35);
  tone.connect(volume).connect(audio.destination);
  tone.onended = () => void audio.close();
  tone.start();
  tone.stop(audio.currentTime + 0.35);
}

/** The icon of the tab, with a point when something waits. */
function badge(waiting: number) {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (!link) return;
  link.dataset.own ??= link.href;
  if (waiting === 0) {
    link.href = link.dataset.own;
    return;
  }
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2457d6"/>` +
    `<text x="16" y="23" font-family="sans-serif" font-size="20" font-weight="700" fill="#fff" text-anchor="middle">${Math.min(waiting, 99)}</text></svg>`;
  link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/**
 * Notify alerts a user in another window: always by the tab, on request by notifications and sound. It asks for
 * permission at the first alert, and is silent about the session of a window with the focus.
 */
export function Notify() {
  const client = useClient();
  const [{ notify, sound }, change] = usePreferences();
  const [at, go] = useLocation();
  const [asks, setAsks] = useState(false);
  useSignal(client.store.inbox);
  useSignal(client.store.list);
  const waiting = client.store.requests.size;
  const title = at.startsWith("/s/") ? client.store.sessions.get(decodeURIComponent(at.slice(3).split("/")[0]!))?.title : undefined;
  useEffect(() => {
    document.title = (waiting > 0 ? `(${waiting}) ` : "") + (title ? `${title} · ${text.app}` : text.app);
    badge(waiting);
  }, [waiting, title]);
  useEffect(() => {
    const { serviceWorker } = navigator;
    const follow = (event: MessageEvent) => go(String((event.data as { go?: unknown }).go));
    serviceWorker?.addEventListener("message", follow); // a click on a notification
    return () => serviceWorker?.removeEventListener("message", follow);
  }, [go]);
  useEffect(() => {
    client.store.onCall = (sessionId, kind, said) => {
      const looking = document.hasFocus() && (at === `/s/${encodeURIComponent(sessionId)}` || (at === "/inbox" && kind === "request"));
      if (looking) return;
      if (sound) beep();
      if (kind === "request" && notify === "ask" && can() && Notification.permission === "default") setAsks(true);
      if (notify !== "on" || !can() || Notification.permission !== "granted") return;
      const title = client.store.sessions.get(sessionId)?.title || text.app;
      const path = `s/${encodeURIComponent(sessionId)}`;
      const options = { body: `${text.notify[kind]}${said ? `: ${said.slice(0, 200)}` : ""}`, tag: `${kind}-${sessionId}` };
      if (client.push.registration) return void client.push.registration.showNotification(title, { ...options, data: { path } });
      const shown = new Notification(title, options);
      shown.onclick = () => {
        window.focus();
        go(`/${path}`);
        shown.close();
      };
    };
    return () => void (client.store.onCall = () => {});
  }, [client, at, go, notify, sound]);
  if (!asks || notify !== "ask") return null;
  return (
    <div className="notice" role="status">
      {text.notify.ask}{" "}
      <button type="button" onClick={() => void allow().then((on) => change({ notify: on ? "on" : "off" }))}>{text.notify.yes}</button>{" "}
      <button type="button" className="quiet" onClick={() => change({ notify: "off" })}>{text.notify.no}</button>
    </div>
  );
}

/** allow asks the browser for leave to notify. */
export async function allow(): Promise<boolean> {
  return can() && (await Notification.requestPermission()) === "granted";
}
