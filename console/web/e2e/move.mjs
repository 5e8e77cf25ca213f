// Navigation: the palette, keys, long lists, and alerts for a user in another window.
import assert from "node:assert/strict";
import { aims, api, base, eventually, live, newSession, open, quiet, send } from "./kit.mjs";

const waits = (id) => eventually("it waits for a person", async () => (await api("GET", "/api/requests")).data.find((r) => r.threadId === id));

export const cases = (test) => {
  test("the palette finds sessions and pages, ? lists keys, g and a letter go", async (browser) => {
    const id = await newSession("A needle in the list");
    const { page, close } = await open(browser, "/settings");
    await live(page);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("needle");
    await page.getByRole("option", { name: /A needle in the list/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/s/${id}`);
    await page.locator(".transcript .scroll").focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Show this list").waitFor();
    await page.keyboard.press("Escape");
    for (const [keys, path] of [["gi", "inbox"], ["gj", "jobs"], ["gx", "extensions"], ["gr", "runtimes"], ["gs", "sessions"], ["gn", ""]]) {
      for (const key of keys) await page.keyboard.press(key);
      await page.waitForURL(`${base}/${path}`);
    }
    await page.goto(`${base}/s/${id}`);
    await page.getByLabel("Message").fill("gi?"); // letters of a text are no keys
    assert.equal(page.url(), `${base}/s/${id}`);
    await page.evaluate(() => localStorage.setItem("harness.preferences", JSON.stringify({ keys: false })));
    await page.reload();
    await live(page);
    await page.locator(".transcript .scroll").focus();
    for (const key of "gi") await page.keyboard.press(key);
    assert.equal(page.url(), `${base}/s/${id}`);
    await close();
  });

  test("the palette finds what transcripts say and opens the session at the entry", async (browser) => {
    const id = await newSession("Something about boats");
    const entries = Array.from({ length: 300 }, (_, n) => ({ messageId: `m${n}`, turnId: `t${n}`, role: "user", type: "userMessage", status: "complete",
      content: n === 20 ? "the <b>Capstan</b> turns \u{1f600} twice" : `line ${n}` }));
    await api("POST", `/api/sessions/${id}/transcript/upserts`, { entries });
    const { page, close } = await open(browser, "/settings");
    await live(page);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("turns capst");
    const hit = page.getByRole("option", { name: /the <b>Capstan<\/b> turns.*Something about boats/ });
    await hit.waitFor();
    assert.deepEqual(await hit.locator("mark").allInnerTexts(), ["Capstan", "turns"]);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/s/${id}?at=m20`);
    await page.getByText("turns \u{1f600} twice").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type('"((*');
    await page.getByText("No results. Try fewer words.").waitFor();
    await close();
  });

  test("selected approvals are listed, then approved together", async (browser) => {
    await quiet();
    const ids = [];
    for (const name of ["apples", "pears", "plums"]) {
      ids.push(await newSession(`Many ${name}`));
      await send(ids.at(-1), `MOCK_CMD[echo ${name}]`);
      await waits(ids.at(-1));
    }
    const { page, close } = await open(browser, "/inbox");
    await page.locator(".request").nth(2).waitFor();
    for (const key of "jxjj") await page.keyboard.press(key);
    await page.locator(".request[data-selected]", { hasText: "echo plums" }).waitFor();
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Approve 2 selected" }).click();
    assert.deepEqual(await page.getByRole("dialog").locator("pre").allInnerTexts(), ["echo apples", "echo plums"]);
    await page.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
    await eventually("only the other one waits", async () => (await page.locator(".request").count()) === 1);
    await page.locator(".request", { hasText: "echo pears" }).waitFor();
    await aims(page, page.locator(".request"), "n");
    await page.keyboard.press("Enter");
    await eventually("nothing waits", async () => (await api("GET", "/api/requests")).data.length === 0);
    await close();
  });

  test("a user in another window is alerted: the tab counts, a notification opens the session", async (browser) => {
    await quiet();
    const id = await newSession("Alert me");
    const { page, context, close } = await open(browser, "/settings");
    await context.grantPermissions(["notifications"]);
    await context.addInitScript(() => {
      window.shown = [];
      window.Notification = class {
        static permission = "default";
        static requestPermission = async () => (window.Notification.permission = "granted");
        constructor(title, options) { window.shown.push([title, options.body]); }
        close() {}
      };
    });
    await page.goto(`${base}/settings`);
    await live(page);
    await send(id, "MOCK_CMD[echo knock]");
    await page.getByText("Get a notification when an agent needs you?").waitFor(); // asked at the first alert, not before
    await page.getByRole("button", { name: "Turn on" }).click();
    assert.match(await page.title(), /^\(1\) /);
    assert.match(await page.locator('link[rel="icon"]').getAttribute("href"), /^data:image\/svg/);
    const { approvalId } = (await api("GET", "/api/requests")).data.find((r) => r.threadId === id);
    await api("POST", `/api/approvals/${approvalId}/decision`, { decision: "decline" });
    await eventually("the end of the turn is shown", async () => (await page.evaluate(() => window.shown)).some(([title]) => title === "Alert me"));
    await eventually("the tab counts nothing", async () => (await page.title()) === "Harness");
    await close();
  });

  test("sessions of one project are shown on demand, and those behind the first hundred are there on demand", async (browser) => {
    const id = await newSession("In a project");
    await api("POST", `/api/sessions/${id}/project`, { projectId: (await api("POST", "/api/projects", { name: "Orchard" })).project.projectId });
    const { page, close } = await open(browser, "/");
    await page.route(/\/api\/sessions\?view=console&limit=100/, async (route) => { // what a list of more than a page looks like
      const cursor = new URL(route.request().url()).searchParams.get("cursor");
      const answer = await route.fetch({ url: route.request().url().replace(/&cursor=.*/, "") });
      const listed = await answer.json();
      const first = listed.data.slice(0, 1);
      await route.fulfill({ response: answer, json: cursor ? { ...listed, data: [{ ...first[0], sessionId: "behind", title: "Behind the first hundred", archivedAt: null, lastEntryAt: Math.floor(Date.now() / 1000) }], nextCursor: null } : { ...listed, nextCursor: "on" } });
    });
    await page.reload();
    await page.getByLabel("Project", { exact: true }).selectOption({ label: "Orchard" });
    await eventually("only that project is shown", async () => (await page.locator(".row").evaluateAll((rows) => rows.map((row) => row.dataset.session))).join() === id);
    await page.reload(); // the address has the filter
    await page.locator(`[data-session="${id}"]`).waitFor();
    assert.equal(await page.locator(".row").count(), 1);
    await page.getByLabel("Project", { exact: true }).selectOption("");
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByText("Behind the first hundred").waitFor();
    assert.equal(await page.getByRole("button", { name: "Load more" }).count(), 0);
    await close();
  });

  test("a page that slept has what came meanwhile, without a reload", async (browser) => {
    const id = await newSession("Asleep");
    const { page, context, close } = await open(browser, `/s/${id}`);
    await live(page);
    await page.evaluate(() => (window.sameDocument = true));
    const cdp = await context.newCDPSession(page);
    await cdp.send("Page.setWebLifecycleState", { state: "frozen" });
    await context.setOffline(true);
    await send(id, "MOCK_REPLY[said while you slept]");
    await eventually("the turn is over", async () => (await api("GET", `/api/sessions/${id}?limit=1`)).session.state === "idle");
    await context.setOffline(false);
    await cdp.send("Page.setWebLifecycleState", { state: "active" });
    await page.locator(".entry.assistant", { hasText: "said while you slept" }).waitFor();
    await live(page);
    assert.equal(await page.evaluate(() => window.sameDocument), true);
    await close();
  });
};
