// Sessions, transcripts, the composer and what survives.
import assert from "node:assert/strict";
import { api, closed, enter, eventually, finished, live, loseFirstAnswer, menu, newSession, open, order, pill, said, send, transcript } from "./kit.mjs";

const answers = async (id) => (await transcript(id)).filter((e) => e.role === "assistant").map((e) => e.content);
const words = (text) => text.replace(/\s+/g, " ").trim();

export const cases = (test) => {
  test("a session is started, a message is sent, its answer streams and ends", async (browser) => {
    const { page, trouble, close } = await open(browser, "/");
    const first = page.getByLabel("First message");
    await eventually("the field has the focus", () => first.evaluate((el) => el === document.activeElement));
    await first.fill("MOCK_SLOW[4] MOCK_HOLD[first]");
    await page.getByRole("button", { name: /^Agent, model, access/ }).click(); // this codex needs no login, and has not worked yet
    await page.getByRole("dialog").getByLabel("Agent", { exact: true }).selectOption("codex");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Agent, model, access: Codex/ }).waitFor();
    await first.press("Enter");
    await page.waitForURL(/\/s\/.+/);
    const field = page.getByLabel("Message");
    await pill(page, "running");
    await eventually("words come while the turn runs", async () => words((await said(page)).join()).split(" ").length >= 3);
    await order("release", { name: "first" });
    await finished(page);
    await pill(page, "idle");
    assert.equal(await field.inputValue(), "");
    assert.deepEqual((await said(page)).map(words), (await answers(page.url().split("/s/")[1])).map(words));
    assert.deepEqual(trouble, []);
    await close();
  }, { core: true });

  test("the server is killed in mid-stream: the same text, without a reload", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await page.evaluate(() => (window.sameDocument = true));
    await send(id, "MOCK_SLOW[40,60]");
    await eventually("the text has begun", async () => words((await said(page)).join()).split(" ").length > 4);
    await order("kill");
    await page.locator('[data-link="connecting"]').waitFor({ state: "attached" });
    await order("start");
    await live(page);
    await finished(page);
    assert.deepEqual((await said(page)).map(words), (await answers(id)).map(words));
    assert.equal(await page.evaluate(() => window.sameDocument), true);
    await close();
  }, { core: true });

  test("without a network it says so at once; back, nothing is missing", async (browser) => {
    const id = await newSession();
    const { page, context, close } = await open(browser, `/s/${id}`);
    await live(page);
    await context.setOffline(true);
    await page.locator('[data-link="offline"]').waitFor({ state: "attached" });
    await send(id, "MOCK_REPLY[said while you were away]");
    await eventually("the turn is over", async () => (await answers(id)).length === 1);
    await context.setOffline(false);
    await live(page);
    await finished(page);
    assert.deepEqual(await said(page), ["said while you were away"]);
    await close();
  });

  test("a page that is opened in mid-turn has the text so far, and goes on", async (browser) => {
    const id = await newSession();
    await send(id, "MOCK_SLOW[12,20] MOCK_HOLD[middle]");
    await eventually("the text has begun", async () => (await answers(id)).join().length > 30);
    const { page, close } = await open(browser, `/s/${id}`);
    await page.locator('.entry.assistant[data-status="streaming"]').waitFor();
    const soFar = words((await said(page)).join());
    assert.ok(soFar.length > 30, soFar);
    await pill(page, "running");
    await order("release", { name: "middle" });
    await finished(page);
    const whole = words((await said(page)).join());
    assert.ok(whole.startsWith(soFar), `${whole} does not go on from ${soFar}`);
    assert.equal(whole, words((await answers(id)).join()));
    await close();
  }, { core: true });

  test("a message to a running turn steers it, Esc Esc stops it", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    const field = page.getByLabel("Message");
    await field.fill(`MOCK_HOLD[${id}]`);
    await field.press("Enter");
    await pill(page, "running");
    let deliver;
    const delivered = new Promise((done) => (deliver = done));
    await page.route("**/messages", async (route) => { await delivered; await route.continue(); });
    await field.fill("and this, too");
    await menu(page, page.locator(".composer"), "Send now", "More ways to send");
    await page.locator(".transcript .scroll").focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape"); // the stop does not overtake the message, however slow the network is
    deliver();
    await eventually("it was taken into the turn", async () => (await transcript(id)).some((e) => e.content === "and this, too"));
    await pill(page, "idle");
    await order("release", { name: id });
    assert.equal(new Set((await transcript(id)).map((e) => e.turnId)).size, 1);
    // Where the turn was stopped before its model was asked again, the message was dropped with it, and the page says so.
    const { messageId } = (await transcript(id)).find((e) => e.content === "and this, too");
    const entry = page.locator(`[data-id="${messageId}"]`, { hasText: "and this, too" });
    await entry.waitFor();
    assert.equal(await entry.getByText("before the agent read this").count(), messageId.startsWith("dropped-") ? 1 : 0);
    await close();
  });

  test("a draft survives a reload, another session and a refusal", async (browser) => {
    const [id, other] = [await newSession(), await newSession()];
    const { page, close } = await open(browser, `/s/${id}`);
    const field = page.getByLabel("Message");
    await field.fill("half a thought");
    await page.reload();
    await eventually("it is there again", async () => (await field.inputValue()) === "half a thought");
    await page.locator(`[data-session="${other}"]`).click();
    await eventually("the other one has none", async () => (await field.inputValue()) === "");
    await page.locator(`[data-session="${id}"]`).click();
    await eventually("it is kept", async () => (await field.inputValue()) === "half a thought");
    await page.route("**/messages", (route) => route.fulfill({ status: 429, json: { status: "error", code: "limit_reached", message: "too many" } }));
    await field.press("Enter");
    await page.getByText("Not sent: too many").waitFor();
    assert.equal(await field.inputValue(), "half a thought");
    await close();
  });

  test("a message whose answer is lost is sent again by itself, and accepted once", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    const lost = await loseFirstAnswer(page);
    const field = page.getByLabel("Message");
    await field.fill("MOCK_HOLD[once]");
    await field.press("Enter");
    const unsent = page.getByRole("list", { name: "Messages not sent yet" });
    await unsent.getByText("MOCK_HOLD[once]").waitFor();
    await pill(page, "running"); // it goes out again in the way it did first, and is not queued
    await eventually("the second answer came", async () => lost.sent === 2 && (await unsent.count()) === 0);
    await order("release", { name: "once" });
    await finished(page);
    await pill(page, "idle");
    assert.deepEqual((await transcript(id)).filter((e) => e.role === "user").map((e) => e.content), ["MOCK_HOLD[once]"]);
    await close();
  }, { core: true });

  test("Enter that ends a word of an input method does not send", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    const field = page.getByLabel("Message");
    await field.fill("日本");
    await field.evaluate((el) => {
      const enter = (more) => el.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...more }));
      enter({ isComposing: true });
      enter({ keyCode: 229 });
    });
    await field.press("Shift+Enter");
    await field.press("x");
    assert.equal(await field.inputValue(), "日本\nx");
    await close();
  });

  test("who has scrolled up stays there to the pixel while text comes", async (browser) => {
    const id = await newSession();
    await fill(id, 200);
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await page.locator('[data-id="e-199"]').waitFor();
    await page.locator(".transcript .scroll").hover();
    await page.mouse.wheel(0, -1500);
    await page.getByRole("button", { name: /Jump to latest|new$/ }).waitFor();
    const place = () => page.evaluate(() => {
      const box = document.querySelector(".transcript .scroll").getBoundingClientRect();
      const first = [...document.querySelectorAll("[data-id]")].find((el) => el.getBoundingClientRect().top >= box.top);
      return [first.dataset.id, Math.round(first.getBoundingClientRect().top)];
    });
    await eventually("it has scrolled", async () => {
      const far = await page.evaluate(() => {
        const box = document.querySelector(".transcript .scroll");
        return box.scrollHeight - box.scrollTop - box.clientHeight > 1000;
      });
      if (!far) await page.mouse.wheel(0, -500); // a turn of the wheel ends where the page puts a measured height right
      return far;
    });
    let before = await place();
    await eventually("the wheel has come to rest", async () => {
      const now = await place();
      const rested = now.join() === before.join();
      before = now;
      return rested;
    });
    await send(id, "MOCK_SLOW[20,10]");
    await eventually("the answer is there", async () => (await answers(id)).length > 0 && (await api("GET", `/api/sessions/${id}?limit=1`)).session.state === "idle");
    await page.getByRole("button", { name: /new$/ }).waitFor();
    assert.deepEqual(await place(), before);
    await page.getByRole("button", { name: /new$/ }).click();
    await finished(page);
    await close();
  });

  test("of thousands of entries those near the screen are in the page, and all can be reached", async (browser) => {
    const id = await newSession();
    await fill(id, 2500);
    const { page, close } = await open(browser, `/s/${id}`);
    await page.locator('[data-id="e-2499"]').waitFor();
    const box = page.locator(".transcript .scroll");
    await eventually("the first entry is reached", async () => {
      await box.hover();
      await page.mouse.wheel(0, -20_000);
      return (await page.locator('[data-id="e-0"]').count()) > 0;
    });
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(elements <= 1500, `${elements} elements`);
    await box.focus();
    await page.keyboard.press("End");
    await page.locator('[data-id="e-2499"]').waitFor();
    await close();
  });

  test("a gap is read again and said", async (browser) => {
    const id = await newSession();
    const { page, context, close } = await open(browser, "/settings");
    await live(page);
    let sockets = 0;
    await page.routeWebSocket(/api\/stream/, (socket) => {
      const server = socket.connectToServer();
      sockets++;
      server.onMessage((frame) => socket.send(String(frame).startsWith('{"type":"resumed"') ? String(frame).replace('"resumed"', '"gap"') : frame));
    });
    let lists = 0;
    await page.route(/\/api\/sessions\?/, (route) => (++lists === 2 ? route.abort() : route.continue())); // the one after the gap
    await page.goto(page.url().replace("/settings", `/s/${id}`));
    await page.getByText("Reconnected after a gap.").waitFor();
    await eventually("what could not be read is read again", () => lists > 2);
    await send(id, "MOCK_REPLY[after the gap]");
    await finished(page);
    assert.deepEqual([await said(page), sockets], [["after the gap"], 1]);
    await closed(context);
    await close();
  });

  test("entries of CI keep their lines, and fold when they are long; output has its colors", async (browser) => {
    const id = await newSession("What CI says");
    await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: "six", turnId: "ci", role: "assistant", type: "ci.note", content: Array.from({ length: 6 }, (_, i) => `check ${i}`).join("\n"), status: "complete" });
    await send(id, "MOCK_REPLY[asked later]");
    const item = { type: "commandExecution", id: "colored", command: "go test", aggregatedOutput: "\u001b[32mgreen\u001b[0m done\n", exitCode: 0 };
    await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: "colored", turnId: "ci", role: "system", type: item.type, content: "go test", status: "complete", details: JSON.stringify(item) });
    const { page, close } = await open(browser, `/s/${id}`);
    await finished(page);
    const six = page.locator("[data-id=six]");
    assert.equal((await six.locator(".plain").innerText()).split("\n").length, 6);
    await page.locator("[data-id=colored] summary").click();
    await page.locator(".output .ansi-green", { hasText: "green" }).waitFor();
    for (const role of ["user", "assistant", "system"]) {
      await api("POST", `/api/sessions/${id}/transcript/upsert`, { messageId: role, turnId: "ci", role, type: "ci.log", content: Array.from({ length: 1204 }, (_, i) => `line ${i}`).join("\n"), status: "complete" });
      const long = page.locator(`[data-id=${role}]`);
      await long.getByRole("button", { name: "Show all 1,204 lines" }).waitFor();
      assert.deepEqual([await long.getByText("line 11").count(), await long.getByText("line 12").count()], [1, 0]);
    }
    await page.locator("[data-id=system]").getByRole("button", { name: "Show all 1,204 lines" }).click();
    await page.locator("[data-id=system]").getByText("line 1203").waitFor();
    await close();
  });

  test("unknown entries are shown, not dropped", async (browser) => {
    const id = await newSession();
    const { page, close } = await open(browser, `/s/${id}`);
    await live(page);
    await api("POST", `/api/sessions/${id}/transcript/upsert`, {
      messageId: "odd", turnId: "ci", role: "system", type: "hologram.shown", content: "a hologram", status: "complete", details: '{"depth":3}',
    });
    const card = page.locator('[data-id="odd"]');
    await card.locator("summary").click();
    assert.equal(await card.locator("pre").count(), 0); // no JSON unasked
    await card.getByText("Details").click();
    await card.getByText('"depth": 3').waitFor();
    await close();
  });
};

/** fill writes many entries into a transcript. */
export async function fill(id, n) {
  for (let from = 0; from < n; from += 500) {
    const entries = Array.from({ length: Math.min(500, n - from) }, (_, i) => ({
      messageId: `e-${from + i}`, turnId: "ci", role: "assistant", type: "agentMessage", content: `Entry ${from + i}: some words to fill a line.`, status: "complete",
    }));
    await api("POST", `/api/sessions/${id}/transcript/upserts`, { entries });
  }
}
