// What the cases share: one browser, pages that are logged in, the server's API, and a hand on the server itself.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const env = (name) => process.env[name] ?? assert.fail(`${name} is not set: this is run by go test ./internal/e2e/clients -run TestTheConsole`);
export const base = env("CONSOLE_URL");
const control = env("CONSOLE_CONTROL");
export const token = env("CONSOLE_TOKEN");
/** How long a state is waited for, in ms. */
export const patience = Number(process.env.CONSOLE_PATIENCE ?? 60_000);

/** launch starts the headless shell, or the whole browser, which uses three times the processor time. */
export const launch = (whole = false) => chromium.launch({
  executablePath: env(whole ? "CONSOLE_CHROMIUM" : "CONSOLE_SHELL"),
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-dev-shm-usage"],
});

/** order has the test's Go side do something: kill and start the server, let a held answer of the model go on; what it answers. */
export async function order(what, query = {}) {
  const response = await fetch(`${control}/${what}?${new URLSearchParams(query)}`, { method: "POST" });
  const answer = await response.text();
  assert.equal(response.status, 200, `${what}: ${answer}`);
  return answer;
}

export async function api(method, path, body, as = token) {
  const response = await fetch(base + path, {
    method, headers: { Authorization: `Bearer ${as}`, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

export async function newSession(title = "") {
  const { session } = await api("POST", "/api/sessions", { filesystemSandbox: "workspace-write" });
  if (title) await api("POST", `/api/sessions/${session.sessionId}/rename`, { title });
  return session.sessionId;
}

export const send = (id, text) => api("POST", `/api/sessions/${id}/messages`, { text });
export const transcript = async (id) => (await api("GET", `/api/sessions/${id}`)).transcript;

/** quiet declines whatever earlier cases have left waiting. */
export async function quiet() {
  for (const one of (await api("GET", "/api/requests")).data) {
    if (one.approvalId) await api("POST", `/api/approvals/${one.approvalId}/decision`, { decision: "decline" });
  }
  await eventually("nothing waits", async () => (await api("GET", "/api/requests")).data.length === 0);
}

/** eventually waits until a condition holds. */
export async function eventually(what, holds) {
  const until = Date.now() + patience;
  for (;;) {
    const got = await holds();
    if (got) return got;
    if (Date.now() > until) assert.fail(`not so in time: ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

/** open returns a page of a logged-in user, which keeps nothing unless a case allows it. A request to another server, or one that its policy refuses, fails the case. */
export async function open(browser, path, { as = token, ...options } = {}) {
  const context = await browser.newContext({ serviceWorkers: "block", ...options });
  context.setDefaultTimeout(patience);
  const login = await context.request.post(`${base}/api/login`, { data: { token: as } });
  assert.equal(login.status(), 200);
  const page = await context.newPage();
  const trouble = [];
  page.on("pageerror", (err) => trouble.push(`error: ${err.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("data:") && !url.startsWith("blob:")) trouble.push(`request: ${url}`);
  });
  page.on("console", (message) => {
    if (/Content.Security.Policy/i.test(message.text())) trouble.push(message.text());
  });
  await page.goto(base + path);
  return { page, context, trouble, close: () => closed(context) };
}

/** closed closes a page with all of its browser's state. Chromium now and then never says that it has: main.mjs then goes on in another one. */
export const closed = (context) => Promise.race([context.close(), new Promise((next) => setTimeout(next, 5000).unref())]);

/** loseFirstAnswer has the page's first message taken by the server, and its answer lost. */
export async function loseFirstAnswer(page) {
  const lost = { sent: 0 };
  await page.route("**/messages", async (route) => {
    if (lost.sent++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  return lost;
}

/** enter sends a message, behind those that are under way. */
export async function enter(page, text) {
  const field = page.getByLabel("Message", { exact: true });
  await field.fill(text);
  await field.press("Enter");
}

/** live waits until the page says that it follows the server. */
export const live = (page) => page.locator('[data-link="live"]').waitFor({ state: "attached" });

/** finished waits for the nth complete message of the agent; said returns the text of all. */
export const finished = (page, n = 1) => page.locator('.entry.assistant[data-status="complete"]').nth(n - 1).waitFor();
export const said = (page) => page.locator(".entry.assistant .md").allInnerTexts();
export const pill = (page, state) => page.locator(`.head .pill[data-state="${state}"]`).waitFor();

/** menu picks an action of the menu in a part of the page. */
export async function menu(page, part, action, name = "More actions") {
  await part.getByRole("button", { name, exact: true }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

/** aims has a letter aim at a button of a request. One that comes too soon counts as typing, which ends when the focus leaves. */
export async function aims(page, card, letter) {
  await eventually(`${letter} aims`, async () => {
    if (!(await card.evaluate((el) => el.contains(document.activeElement)))) await card.focus();
    await page.waitForTimeout(500);
    await page.keyboard.press(letter);
    if ((await card.locator("[data-aim]").count()) > 0) return true;
    await page.evaluate(() => document.activeElement.blur());
    return false;
  });
}
