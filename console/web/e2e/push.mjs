// Web Push: the browser is real but for its maker's push service, which no test can reach. What that does is done here: it
// names an address of the test, whose messages are decrypted and handed to the service worker.
import assert from "node:assert/strict";
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { api, base, eventually, live, newSession, open, order, quiet, send } from "./kit.mjs";

const service = process.env.CONSOLE_PUSH;

/** A browser's keys, and what reads messages for them (RFC 8291). */
function browserKeys() {
  const [own, auth] = [createECDH("prime256v1"), randomBytes(16)];
  own.generateKeys();
  return {
    p256dh: own.getPublicKey("base64url"), auth: auth.toString("base64url"),
    read(sealed) {
      const [salt, length] = [sealed.subarray(0, 16), sealed[20]];
      const [sender, text] = [sealed.subarray(21, 21 + length), sealed.subarray(21 + length)];
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), own.getPublicKey(), sender]);
      const secret = Buffer.from(hkdfSync("sha256", own.computeSecret(sender), auth, info, 32));
      const key = (what, size) => Buffer.from(hkdfSync("sha256", secret, salt, `Content-Encoding: ${what}\0`, size));
      const decipher = createDecipheriv("aes-128-gcm", key("aes128gcm", 16), key("nonce", 12));
      decipher.setAuthTag(text.subarray(-16));
      const plain = Buffer.concat([decipher.update(text.subarray(0, -16)), decipher.final()]);
      return plain.subarray(0, plain.lastIndexOf(2)).toString();
    },
  };
}

/** subscribes has pages' browser subscribe at the test. */
const subscribes = (context, endpoint, { p256dh, auth }) => context.addInitScript(([endpoint, keys]) => {
  const kept = () => localStorage.getItem("test.subscribed");
  const subscription = () => ({
    options: { applicationServerKey: Uint8Array.from(atob(kept()), (c) => c.charCodeAt(0)).buffer },
    toJSON: () => ({ endpoint, expirationTime: null, keys }),
    unsubscribe: async () => (localStorage.removeItem("test.subscribed"), true),
  });
  PushManager.prototype.getSubscription = async () => (kept() ? subscription() : null);
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly) throw new Error("not without a notification");
    localStorage.setItem("test.subscribed", btoa(String.fromCharCode(...applicationServerKey)));
    return subscription();
  };
}, [endpoint, { p256dh, auth }]);

export const cases = (test) => {
  test("a browser is notified while no page is open, until it is unsubscribed", async (browser) => {
    await quiet();
    const keys = browserKeys();
    const { page, context, trouble, close } = await open(browser, "/settings", { serviceWorkers: "allow" });
    await context.grantPermissions(["notifications"], { origin: new URL(base).origin });
    await subscribes(context, `${service}/one`, keys);
    await page.goto(`${base}/settings/notifications`);
    await live(page);
    const cdp = await context.newCDPSession(page);
    const workers = [];
    cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => workers.push(...registrations));
    await cdp.send("ServiceWorker.enable");
    await page.getByLabel("When Harness is closed").check();
    await page.locator("[data-browser]", { hasText: "This browser" }).waitFor();
    await page.reload(); // it is known again
    await page.locator("[data-browser]", { hasText: "This browser" }).waitFor();
    assert.equal(await page.locator("[data-browser]").count(), 1);

    const id = await newSession("Push me");
    await page.goto("about:blank"); // no page is open
    await send(id, "MOCK_CMD[echo knock]");
    const message = JSON.parse(keys.read(Buffer.from(await order("pushed"), "base64")));
    assert.deepEqual([message.kind, message.sessionId, message.title], ["approval.waiting", id, "Push me"]);
    assert.match(message.text, /^An approval is waiting: .*echo knock/);

    await page.goto(`${base}/settings/notifications`);
    await live(page);
    const deliver = async () => {
      const { registrationId } = workers.findLast((one) => !one.isDeleted && one.scopeURL.startsWith(base));
      await cdp.send("ServiceWorker.deliverPushMessage", { origin: new URL(base).origin, registrationId, data: JSON.stringify(message) });
    };
    const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.getRegistration(document.baseURI)).getNotifications()).map((n) => [n.title, n.body, n.tag]));
    await eventually("the notification is shown", async () => {
      await deliver(); // again, when the worker was being replaced; its tag makes it one
      return (await shown()).some(([title]) => title === "Push me");
    });
    assert.deepEqual(await shown(), [["Push me", message.text, `request-${id}`]]);
    await context.serviceWorkers()[0].evaluate(async () => { // a click on it
      const [notification] = await registration.getNotifications();
      self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
    });
    await page.locator(".head", { hasText: "Push me" }).waitFor();

    await page.goto(`${base}/settings/notifications`);
    await page.getByLabel("When Harness is closed").uncheck();
    await eventually("the server knows it no more", async () => (await api("GET", "/api/push")).data.length === 0);
    assert.equal(await page.evaluate(() => localStorage.getItem("test.subscribed")), null);
    await page.getByLabel("When Harness is closed").check();
    await eventually("and then again", async () => (await api("GET", "/api/push")).data.length === 1);
    await page.goto(`${base}/settings`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await eventually("a logout ends it", async () => (await api("GET", "/api/push")).data.length === 0);
    await page.getByLabel("Access token").waitFor();
    assert.deepEqual(trouble, []);
    await quiet();
    await close();
  }, { whole: true });
};
