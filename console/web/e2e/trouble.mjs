// What does not go well is said where one looks, with what helps: a model, a login or a server that is not there.
import assert from "node:assert/strict";
import { api, base, enter, eventually, finished, live, newSession, open, order, pill, transcript } from "./kit.mjs";

const users = async (id) => (await transcript(id)).filter((e) => e.role === "user").map((e) => e.content);

export const cases = (test) => {
  test("a turn that cannot reach its model says so, with the remedy and a button, in the session and in the list", async (browser) => {
    const id = await newSession("A model that is away");
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await enter(page, "MOCK_HOLD[away]");
    await pill(page, "running");
    const turnId = (await api("GET", `/api/sessions/${id}?limit=1`)).session.activeTurnId;
    const tries = (status, content) => api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: `turn-retry-${turnId}`, turnId, role: "system", type: "turn.retrying", status, content,
      details: JSON.stringify({ attempt: 2, of: 5, reason: "503 from the provider", remedy: "The agent tries again by itself." }) });
    await tries("error", "The model does not answer (attempt 2 of 5): 503 from the provider\n\nThe agent tries again by itself."); // as the server writes it
    const notice = page.locator("[data-type='turn.retrying']", { hasText: "Can’t reach the model · try 2 of 5" });
    await notice.getByText("503 from the provider").waitFor();
    await notice.getByText("The agent tries again by itself.").waitFor();
    await notice.getByRole("button", { name: "Stop" }).waitFor();
    await page.locator(`[data-session="${id}"]`, { hasText: "(attempt 2 of 5)" }).waitFor();
    assert.equal(await notice.locator("pre").count(), 0);
    await tries("complete", "The model answered after attempt 2 of 5.");
    await order("release", { name: "away" });
    await finished(page);
    await pill(page, "idle");
    assert.equal(await page.getByText("Can’t reach the model").count(), 0);
    assert.equal(await page.locator("[data-agent=codex]").count(), 0); // it works without a login
    await close();
  });

  test("a failed turn says why, and its message is sent again once", async (browser) => {
    const id = await newSession("A turn that fails");
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await enter(page, "MOCK_HTTP_400[the model was withdrawn]");
    const failed = page.locator("[data-type='turn.error']", { hasText: "This turn failed" });
    await failed.getByText("the model was withdrawn").waitFor();
    await page.locator(`[data-session="${id}"]`, { hasText: "Failed: " }).waitFor();
    await failed.getByRole("button", { name: "Send again" }).click();
    await failed.nth(1).waitFor();
    await eventually("only the last one can be sent again", async () => (await page.getByRole("button", { name: "Send again" }).count()) === 1);
    assert.equal((await users(id)).length, 2);
    await close();
  });

  test("a server that is away: one banner, a clock that stands, no decisions; then all goes on", async (browser) => {
    const id = await newSession("A server that is away");
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await enter(page, "MOCK_CMD[echo away]");
    await page.locator(".request").waitFor();
    await order("kill");
    const banner = page.locator("[data-banner=lost]");
    await banner.waitFor();
    await page.locator(".head .pill", { hasText: / at \d/ }).waitFor();
    const shown = () => page.locator(".head .pill[data-state], .request .wait").allInnerTexts();
    const before = await shown();
    await page.locator(".request").getByText("Reconnect to decide.").waitFor();
    assert.equal(await page.locator("[data-choice]:enabled").count(), 0);
    await page.waitForTimeout(3000);
    assert.deepEqual(await shown(), before);
    assert.equal(await banner.count(), 1);
    await banner.getByText(/Next try in|Trying/).waitFor();
    await order("start");
    await banner.getByRole("button", { name: "Try now" }).click();
    await live(page);
    await banner.waitFor({ state: "detached" });
    await page.locator("[data-choice=approve]:enabled").click();
    await finished(page);
    await close();
  }, { core: true });

  test("an agent without a login says so in its session and on the first page, with the way to sign in", async (browser) => {
    await order("kill");
    await order("start", { env: "ANTHROPIC_API_KEY=" });
    const { session } = await api("POST", "/api/sessions", { runtime: "claude" });
    const { page, close } = await open(browser, `/s/${session.sessionId}`);
    for (const path of [`/s/${session.sessionId}`, "/"]) {
      await page.goto(base + path);
      const notice = page.locator("[data-agent=claude]", { hasText: "Claude Code isn’t signed in" });
      await notice.getByRole("link", { name: "Sign in" }).waitFor();
    }
    await page.locator("[data-agent=claude]").getByRole("link", { name: "Sign in" }).click();
    await page.waitForURL(`${base}/runtimes`);
    await close();
    await order("kill");
    await order("start");
  });
};
