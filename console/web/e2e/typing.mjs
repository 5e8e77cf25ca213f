// What is typed never decides: a letter aims at a button of the request that has the focus, and Enter decides.
import assert from "node:assert/strict";
import { aims, api, eventually, finished, live, newSession, open, send, transcript } from "./kit.mjs";

const requests = async (id) => (await api("GET", "/api/requests")).data.filter((r) => r.threadId === id);
const decision = async (id) => (await transcript(id)).filter((e) => e.type.endsWith(".resolved")).map((e) => JSON.parse(e.details).decision).join();
const typed = "yes please do";

/** waiting is a session whose agent wants to change a file. */
async function waiting(title) {
  const id = await newSession(title);
  await send(id, `MOCK_PATCH[${id}.txt]`);
  await eventually("it waits for a person", async () => (await requests(id)).length === 1);
  return id;
}

/** decisions are the requests of a page that decide something. */
function decisions(page) {
  const sent = [];
  page.on("request", (request) => {
    if (/\/(approvals|tool-input|tool-calls)\//.test(request.url())) sent.push(request.postData() ?? request.url());
  });
  return sent;
}

const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
const typeSlowly = (page, text) => page.keyboard.type(text, { delay: 60 });

export const cases = (test) => {
  test("what is typed in a session goes into the message, and decides nothing, wherever the focus is", async (browser) => {
    const id = await waiting("Typed in a session");
    const { page, close } = await open(browser, "/");
    const sent = decisions(page);
    await page.locator(`[data-session="${id}"]`).click();
    await page.locator(".request").waitFor();
    await eventually("the message field has the focus", async () => (await focused(page)) === "Message");
    await typeSlowly(page, typed);
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), typed);
    for (const place of [page.locator(`[data-session="${id}"]`), page.locator(".transcript .scroll"), page.locator(".head").getByRole("button", { name: "More actions" })]) {
      await place.focus();
      await page.waitForTimeout(500);
      await typeSlowly(page, typed);
    }
    assert.deepEqual([sent, (await requests(id)).length], [[], 1]);
    await api("POST", `/api/approvals/${(await requests(id))[0].approvalId}/decision`, { decision: "decline" });
    await close();
  });

  test("what is typed in the inbox decides nothing", async (browser) => {
    const id = await waiting("Typed in the inbox");
    const { page, close } = await open(browser, "/inbox");
    const sent = decisions(page);
    await page.locator(".request").waitFor();
    await live(page);
    await typeSlowly(page, typed);
    await page.keyboard.press("Enter");
    await page.locator("h1").click();
    await page.waitForTimeout(500);
    await typeSlowly(page, "just do it");
    await page.keyboard.press("Enter");
    assert.deepEqual([sent, (await requests(id)).length], [[], 1]);
    await api("POST", `/api/approvals/${(await requests(id))[0].approvalId}/decision`, { decision: "decline" });
    await close();
  });

  test("on a focused request a line decides nothing; one letter and Enter do, once", async (browser) => {
    const id = await waiting("A focused request");
    const { page, close } = await open(browser, `/s/${id}`);
    const sent = decisions(page);
    const card = page.locator(".request");
    await card.waitFor();
    await live(page);
    await eventually("Tab reaches the card", async () => {
      await page.keyboard.press("Shift+Tab");
      return card.evaluate((el) => el === document.activeElement);
    });
    await page.waitForTimeout(500);
    await typeSlowly(page, typed);
    await page.keyboard.press("Enter");
    await card.locator("[data-choice=decline]").focus(); // it has not left the card
    await typeSlowly(page, "n");
    await page.keyboard.press("Enter");
    assert.deepEqual(sent, []);
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "Message");
    await aims(page, card, "n");
    await page.keyboard.press("Escape"); // ends the aim, not the turn
    assert.equal(await card.locator("[data-aim]").count(), 0);
    await page.keyboard.press("Enter");
    assert.deepEqual([sent, (await requests(id)).length], [[], 1]);
    await aims(page, card, "y");
    await card.getByText("Enter approves").waitFor();
    await page.keyboard.press("Enter");
    await finished(page);
    assert.deepEqual([sent.length, await decision(id)], [1, "accept"]);
    assert.equal(await focused(page), "Message");
    await close();
  }, { core: true });

  test("a session opened with the keyboard has the focus in the message field; on a phone no keyboard jumps up", async (browser) => {
    const id = await newSession("Where the focus is");
    const { page, close } = await open(browser, "/");
    await page.locator(`[data-session="${id}"]`).focus();
    await page.keyboard.press("Enter");
    await eventually("the message field has the focus", async () => (await focused(page)) === "Message");
    await typeSlowly(page, "typed at once");
    assert.equal(await page.getByLabel("Message", { exact: true }).inputValue(), "typed at once");
    await close();
    const phone = await open(browser, `/s/${id}`, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await live(phone.page);
    await eventually("the title has the focus", () => phone.page.evaluate(() => document.activeElement?.tagName === "H1"));
    await phone.close();
  });
};
